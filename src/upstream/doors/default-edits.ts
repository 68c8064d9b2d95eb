/**
 * What each kind of upstream is known to refuse, so that one beta of a client does not make a 400 of its whole request. The list is from others' documents and reports,
 * and was not tried against a real cloud: `default_edits = false` leaves it out. Rules: doors.md "Edits".
 */

import type { Kind, RequestEdits } from '../../core/door.ts'
import type { EditLists } from './request-edit.ts'

const NONE: EditLists = { dropBetas: [], renameBetas: {}, dropFields: [] }

const CACHE_SCOPES = ['system[].cache_control.scope', 'tools[].cache_control.scope', 'messages[].content[].cache_control.scope']

const LISTS: Readonly<Partial<Record<Kind, EditLists>>> = {
  'bedrock-invoke': {
    dropBetas: ['prompt-caching-*', 'extended-cache-ttl-*', 'files-api-*', 'code-execution-*', 'memory-2025-08-18'],
    renameBetas: { 'advanced-tool-use-2025-11-20': 'tool-search-tool-2025-10-19' },
    dropFields: ['output_format', ...CACHE_SCOPES],
  },
  vertex: { dropBetas: ['prompt-caching-scope-*'], renameBetas: {}, dropFields: ['output_format', ...CACHE_SCOPES] },
}

/** The operator's edits and, unless the operator turned them off, the kind's own; the operator's win. */
export function allEdits(kind: Kind, own: RequestEdits): EditLists {
  const { dropBetas, renameBetas, dropFields } = own.hasDefaults ? (LISTS[kind] ?? NONE) : NONE
  return {
    dropBetas: [...dropBetas.filter((name) => !Object.hasOwn(own.renameBetas, name)), ...own.dropBetas],
    renameBetas: { ...renameBetas, ...own.renameBetas },
    dropFields: [...dropFields, ...own.dropFields],
  }
}
