/** A page as a browser loads it: its document, what that names, and whatever the scripts import, each where the script that names it says. */

export type Part = Readonly<{ address: string; status: number; type: string; gzipped: number }>

/** A script's own imports, of both kinds, and files that a script adds by name. */
const IMPORTS = /(?:from|import)\s*\(?\s*["'](\.{0,2}\/[^"']+\.(?:js|css))["']/g

/** `address`: of the page. The page itself is the first. */
export async function partsOf(address: string): Promise<readonly Part[]> {
  const parts: Part[] = []
  const seen = new Set<string>()
  const load = async (from: string, inside: RegExp): Promise<void> => {
    if (seen.has(from)) return
    seen.add(from)
    const response = await fetch(from, { headers: { 'accept-encoding': 'gzip' }, decompress: false })
    const sent = new Uint8Array(await response.arrayBuffer())
    const text = new TextDecoder().decode(response.headers.get('content-encoding') === 'gzip' ? Bun.gunzipSync(sent) : sent)
    const type = response.headers.get('content-type') ?? ''
    parts.push({ address: from, status: response.status, type, gzipped: sent.length })
    const named = [...text.matchAll(inside)].map(([, path = '']) => new URL(path, from).href)
    for (const next of named) await load(next, IMPORTS)
  }
  await load(address, /(?:src|href)="([^"]+)"/g)
  return parts
}
