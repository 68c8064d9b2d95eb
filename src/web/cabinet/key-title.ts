/** What a key is called. Rules: pages.md "Spend". */

/** A key without a name is shown by its id. */
export const keyTitle = ({ id, name }: Readonly<{ id: string; name: string }>): string => (name === '' ? id : name)
