/** Amounts are copied with all their digits, whatever part of them is selected and however few are shown. Rules: pages.md "Amounts". */

/** While the text is taken, each selected amount shows what it is worth; nothing is drawn in between. */
function onCopy(event: ClipboardEvent): void {
  const selection = getSelection()
  if (selection === null || selection.rangeCount === 0 || event.clipboardData === null) return
  const range = selection.getRangeAt(0)
  const amounts = [...document.querySelectorAll<HTMLDataElement>('data.usd')].filter((amount) => range.intersectsNode(amount))
  if (amounts.length === 0) return
  const kept = range.cloneRange()
  const shown = amounts.map((amount) => ({ text: amount.firstChild, before: amount.textContent }))
  for (const amount of amounts) takeWhole(range, amount)
  for (const [index, { text }] of shown.entries()) if (text !== null) text.nodeValue = amounts[index]?.value ?? ''
  event.clipboardData.setData('text/plain', selection.toString())
  for (const { text, before } of shown) if (text !== null) text.nodeValue = before
  selection.removeAllRanges()
  selection.addRange(kept)
  event.preventDefault()
}

function takeWhole(range: Range, amount: Node): void {
  if (amount.contains(range.startContainer)) range.setStartBefore(amount)
  if (amount.contains(range.endContainer)) range.setEndAfter(amount)
}

export const copyExactly = (): void => document.addEventListener('copy', onCopy)
