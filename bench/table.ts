/** Rows of text under headings, as Markdown that also reads well in a terminal. */

const wide = (text: string): number => [...text].length

/** The first column is aligned to the left, all others to the right. */
export function tableText(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(...[title, ...rows.map((row) => row[column] ?? '')].map(wide), 3))
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, column) => pad(cells[column] ?? '', width, column === 0)).join(' | ')} |`
  const rule = `|${widths.map((width, column) => (column === 0 ? `${'-'.repeat(width + 2)}` : `${'-'.repeat(width + 1)}:`)).join('|')}|`
  return [line(head), rule, ...rows.map(line)].join('\n')
}

const pad = (text: string, width: number, isLeft: boolean): string => {
  const space = ' '.repeat(width - wide(text))
  return isLeft ? text + space : space + text
}
