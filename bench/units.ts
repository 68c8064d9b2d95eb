/** Figures as people read them: three digits, and the unit that keeps them short. */

export type Unit = 'µs' | '/s' | 'MB' | 'ms' | '×' | ''

const STEPS: Readonly<Record<Unit, readonly (readonly [from: number, unit: string])[]>> = {
  µs: [
    [1e6, ' s'],
    [1e3, ' ms'],
    [1, ' µs'],
  ],
  ms: [
    [1e3, ' s'],
    [1, ' ms'],
  ],
  '/s': [
    [1e6, ' M/s'],
    [1, '/s'],
  ],
  MB: [[1, ' MB']],
  '×': [[1, ' ×']],
  '': [[1, '']],
}

/** `0.153` → "0.15", `1412.5` → "1,410". */
export function digits(value: number): string {
  const size = Math.abs(value)
  if (size >= 1_000) return Number(value.toPrecision(3)).toLocaleString('en-US')
  if (size >= 100) return value.toFixed(0)
  if (size >= 10) return String(Number(value.toFixed(1)))
  return String(Number(value.toFixed(size >= 1 ? 2 : 3)))
}

/** `1412.5` and "µs" → "1.41 ms". */
export function inUnit(value: number, unit: Unit): string {
  const steps = STEPS[unit]
  const [from, name] = steps.find(([least]) => Math.abs(value) >= least) ?? steps.at(-1) ?? [1, unit]
  return `${digits(value / from)}${name}`
}
