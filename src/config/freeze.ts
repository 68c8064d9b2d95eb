/** Freezes a value to its last corner: the configuration is shared by every request, and a reload replaces it whole. */

export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (value instanceof Map || value instanceof Set) {
    for (const item of value.values()) deepFreeze(item)
    for (const name of MUTATORS) Object.defineProperty(value, name, { value: refuse })
  }
  for (const item of Object.values(value)) deepFreeze(item)
  return Object.freeze(value)
}

/** `Object.freeze` does not reach what a Map or a Set holds. */
const MUTATORS = ['set', 'add', 'delete', 'clear']

function refuse(): never {
  throw new TypeError('the configuration is frozen')
}
