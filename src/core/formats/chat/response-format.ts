/** Chat's `response_format` to a JSON mode. Rules: contract.md "Chat request"; translation.md "JSON modes". */

import { isGiven, isObject, NOT_AN_OBJECT } from '../../json.ts'
import { invalid, type Refusal } from '../../refusal.ts'
import type { JsonMode } from '../translate/json-hint.ts'

export function readResponseFormat(value: unknown): JsonMode | Refusal {
  if (!isGiven(value)) return { kind: 'text' }
  if (!isObject(value)) return invalid('response_format', NOT_AN_OBJECT)
  switch (value['type']) {
    case 'text':
      return { kind: 'text' }
    case 'json_object':
      return { kind: 'object' }
    case 'json_schema': {
      const named = value['json_schema']
      if (!isObject(named)) return invalid('response_format.json_schema', NOT_AN_OBJECT)
      return { kind: 'schema', schema: named['schema'] }
    }
    default:
      return invalid('response_format.type', 'Input should be one of text, json_object, json_schema')
  }
}
