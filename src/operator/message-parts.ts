/** What the shapes of the operator's messages are made of. Rules: operator.md "Socket". */

import { Type } from '@sinclair/typebox'
import { BALANCE_PICOS_MAX } from '../core/money.ts'
import { PERS } from '../core/windows.ts'

export const id = Type.String({ minLength: 1, maxLength: 64 })
export const label = Type.String({ maxLength: 256 })
export const per = Type.Union(PERS.map((one) => Type.Literal(one)))
export const time = Type.Integer({ minimum: 0 })
export const picos = Type.BigInt({ minimum: -BALANCE_PICOS_MAX, maximum: BALANCE_PICOS_MAX })
export const hash = Type.Uint8Array({ minByteLength: 32, maxByteLength: 32 })
export const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) => Type.Union([schema, Type.Null()])
export const shape = <T extends Parameters<typeof Type.Object>[0]>(properties: T) =>
  Type.Object(properties, { additionalProperties: false })
