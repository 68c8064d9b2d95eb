/** The gateways whose keys can be imported. Rules: operator.md "Import". */

export const IMPORT_SYSTEMS = ['litellm', 'one-api', 'new-api'] as const
export type ImportSystem = (typeof IMPORT_SYSTEMS)[number]
