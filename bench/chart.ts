/**
 * Bars as an SVG that a page shows as it is: a panel a scale, logarithmic or linear, a group of bars a row, a mark where the goal is. Its colours follow the reader's light or dark.
 */

export type Bar = Readonly<{ who: string; value: number; text: string }>
/** `goal`: a value in the panel's scale. */
export type Group = Readonly<{ name: string; bars: readonly Bar[]; goal: number | undefined }>
/** `from` is where bars begin; a value below has the shortest bar. */
export type Panel = Readonly<{ title: string; from: number; to: number; isLinear?: boolean; groups: readonly Group[] }>

const WIDTH = 860
const NAMES = 270
const TEXTS = 130
const BARS = WIDTH - NAMES - TEXTS
const BAR = 15
const GAP = 12
const TITLE = 44
const MARGIN = 14
const SHORTEST = 2

const STYLE = `
  svg { font: 13px system-ui, sans-serif }
  .page { fill: #ffffff } .title { fill: #1f2328; font-weight: 600 } .name { fill: #1f2328 } .text { fill: #59636e; font-size: 11px }
  .us { fill: #1a7f64 } .reference { fill: #8c959f } .peer { fill: #c98a2b } .goal { stroke: #1f2328; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } .title, .name { fill: #f0f6fc } .text { fill: #9198a1 }
    .us { fill: #3fb68b } .reference { fill: #656c76 } .peer { fill: #d9a441 } .goal { stroke: #f0f6fc }
  }
`

/** `us` names the bars that the chart is about, `reference` those that they are compared with. */
export function chart(panels: readonly Panel[], { us, reference, caption }: { us: string; reference: string; caption: string }): string {
  const parts: string[] = []
  let y = MARGIN
  for (const panel of panels) {
    parts.push(`<text class="title" x="${MARGIN}" y="${y + 18}">${escaped(panel.title)}</text>`)
    y += TITLE
    for (const group of panel.groups) {
      parts.push(...groupOf(group, panel, y, us, reference))
      y += group.bars.length * BAR + GAP
    }
    y += GAP
  }
  parts.push(`<text class="text" x="${MARGIN}" y="${y + 8}">${escaped(caption)}</text>`)
  const height = y + 24
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escaped(caption)}">
<style>${STYLE}</style>
<rect class="page" width="${WIDTH}" height="${height}" rx="8"/>
${parts.join('\n')}
</svg>
`
}

function groupOf({ name, bars, goal }: Group, panel: Panel, top: number, us: string, reference: string): readonly string[] {
  const height = bars.length * BAR
  const drawn = bars.flatMap(({ who, value, text }, index) => {
    const [y, length] = [top + index * BAR, lengthOf(value, panel)]
    const kind = who === us ? 'us' : who === reference ? 'reference' : 'peer'
    return [
      `<rect class="${kind}" x="${NAMES}" y="${y + 1}" width="${length}" height="${BAR - 3}" rx="2"/>`,
      `<text class="text" x="${NAMES + length + 6}" y="${y + BAR - 4}">${escaped(`${who} ${text}`)}</text>`,
    ]
  })
  const at = goal === undefined ? undefined : NAMES + lengthOf(goal, panel)
  return [
    `<text class="name" x="${NAMES - 12}" y="${top + height / 2 + 4}" text-anchor="end">${escaped(name)}</text>`,
    ...drawn,
    ...(at === undefined
      ? []
      : [`<line class="goal" x1="${at}" x2="${at}" y1="${top - 2}" y2="${top + height}"><title>goal</title></line>`]),
  ]
}

/** The length of a bar, rounded to a tenth of a pixel. */
function lengthOf(value: number, { from, to, isLinear = false }: Panel): number {
  const share = isLinear ? (value - from) / (to - from) : Math.log(Math.max(value, from) / from) / Math.log(to / from)
  return Math.round(Math.max(SHORTEST, Math.min(1, share) * BARS) * 10) / 10
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
