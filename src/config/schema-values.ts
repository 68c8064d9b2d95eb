/** Values that several parts of the configuration's shape use, each with the words for what is expected. Rules: operator.md "Configuration". */

import { Type } from '@sinclair/typebox'

/** Every table has this option, by which an unknown name is a mistake. */
export const CLOSED = { additionalProperties: false }
/** The longest time of a timer is 2³¹ − 1 milliseconds. */
const TIMER_MS_MAX = 2_147_483_647
export const COUNT_MAX = 1_000_000_000
export const NAME_MAX = 64

export const port = Type.Integer({ minimum: 0, maximum: 65_535, description: 'a port from 0 to 65535' })
export const host = Type.String({ pattern: '^[0-9A-Za-z.:_-]{1,253}$', description: 'a host name or an address' })
export const name = Type.String({
  pattern: `^[0-9A-Za-z][0-9A-Za-z_.-]{0,${NAME_MAX - 1}}$`,
  description: `a name of up to ${NAME_MAX} letters, digits, "_", "." and "-"`,
})
export const variable = (holds: string) =>
  Type.String({ pattern: '^[A-Za-z_][0-9A-Za-z_]*$', description: `the NAME of an environment variable that holds ${holds}` })
export const text = (description: string) => Type.String({ minLength: 1, description })
export const publicUrl = text('an http or https address without a path')
export const count = (description: string, maximum = COUNT_MAX, minimum = 1) => Type.Integer({ minimum, maximum, description })
export const milliseconds = count(`a whole number of milliseconds from 1 to ${TIMER_MS_MAX}`, TIMER_MS_MAX)
export const positive = count(`a whole number from 1 to ${COUNT_MAX}`)
export const usd = Type.String({ pattern: '^\\d{1,7}(\\.\\d{1,12})?$', description: 'a decimal in quotes, such as "3.00"' })
export const texts = (item: string, description: string) => Type.Array(text(item), { uniqueItems: true, description })
