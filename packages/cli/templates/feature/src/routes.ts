import {
  type Context,
  capacityExceeded,
  DURATION_PATTERN,
  type JsonSchema,
  msFromDuration,
  NULLABLE_TIMESTAMP_SCHEMA,
  notFound,
  objectSchema,
  ok,
  PAGE_QUERY,
  pageSchema,
  type Route,
  route,
  TIMESTAMP_SCHEMA,
} from '@steeple/contracts'
import type { SamplePluginConfig } from './config.ts'
import type { Note, NoteStore } from './store.ts'

interface NameParams {
  readonly name: string
}
interface NoteBody {
  readonly body: string
  readonly expires_in?: string
}

const NAME: JsonSchema = { type: 'string', pattern: '^[a-z0-9][a-z0-9-]{0,62}$' }
const NAME_PARAMS: JsonSchema = objectSchema({ name: NAME }, ['name'])
const NOTE: JsonSchema = objectSchema(
  {
    name: NAME,
    body: { type: 'string' },
    written_by: { type: 'string' },
    written_at: TIMESTAMP_SCHEMA,
    expires_at: NULLABLE_TIMESTAMP_SCHEMA,
  },
  ['name', 'body', 'written_by', 'written_at', 'expires_at'],
)
const NOTE_BODY: JsonSchema = objectSchema(
  {
    body: { type: 'string', minLength: 1, maxLength: 2000 },
    expires_in: { type: 'string', pattern: DURATION_PATTERN },
  },
  ['body'],
)

/** The routes as data: the host turns them into HTTP, authorisation, validation and documentation. */
export function noteRoutes(context: Context<SamplePluginConfig>, store: NoteStore): readonly Route[] {
  return [
    route<unknown, unknown, unknown>({
      method: 'GET',
      path: '/v1/sample-plugin/notes',
      role: 'viewer',
      summary: 'Notes by name',
      paged: true,
      schema: { query: objectSchema(PAGE_QUERY), response: pageSchema('notes', NOTE) },
      handle: async (request) => {
        const page = request.page()
        const rows = await store.list(String(page.after?.[0] ?? ''), page.limit + 1)
        const shown = rows.slice(0, page.limit)
        const last = shown.at(-1)
        const hasMore = rows.length > page.limit && last !== undefined
        return ok({ notes: shown.map(noteRecord), next_cursor: hasMore ? page.cursor([last.name]) : null })
      },
    }),
    route<NameParams, unknown, unknown>({
      method: 'GET',
      path: '/v1/sample-plugin/notes/:name',
      role: 'viewer',
      summary: 'One note',
      schema: { params: NAME_PARAMS, response: NOTE },
      errors: [notFound.code],
      handle: async (request) => {
        const note = await store.find(request.params.name)
        if (note === undefined) throw notFound(`note ${request.params.name}`)
        return ok(noteRecord(note))
      },
    }),
    route<NameParams, unknown, NoteBody>({
      method: 'PUT',
      path: '/v1/sample-plugin/notes/:name',
      role: 'operator',
      summary: 'Write a note, or another text into it',
      audit: 'note.write',
      schema: { params: NAME_PARAMS, body: NOTE_BODY, response: NOTE },
      errors: [capacityExceeded.code],
      handle: (request) =>
        request.mutate(request.params.name, async (tx) => {
          const isNew = (await store.findIn(tx, request.params.name)) === undefined
          const max = context.config.max_notes
          if (isNew && (await store.count(tx)) >= max)
            throw capacityExceeded(`there are ${max} notes already`)
          const note = noteFrom(
            request.params.name,
            request.body,
            request.principal.name,
            context.clock.nowMs(),
          )
          await store.put(tx, note)
          tx.dirty('sample_plugin_note', note.name)
          return ok(noteRecord(note))
        }),
    }),
    route<NameParams, unknown, unknown>({
      method: 'DELETE',
      path: '/v1/sample-plugin/notes/:name',
      role: 'operator',
      summary: 'Remove a note; one that is not there is removed already',
      audit: 'note.remove',
      schema: { params: NAME_PARAMS, status: 204 },
      handle: (request) =>
        request.mutate(request.params.name, async (tx) => {
          await store.remove(tx, request.params.name)
          return { status: 204 }
        }),
    }),
  ]
}

function noteFrom(name: string, body: NoteBody, author: string, nowMs: number): Note {
  const lifeMs = body.expires_in === undefined ? undefined : msFromDuration(body.expires_in)
  return {
    name,
    body: body.body,
    written_by: author,
    written_at: nowMs,
    expires_at: lifeMs === undefined ? null : nowMs + lifeMs,
  }
}

/** A note as the API shows it. */
function noteRecord(note: Note): Readonly<Record<string, unknown>> {
  return {
    name: note.name,
    body: note.body,
    written_by: note.written_by,
    written_at: new Date(note.written_at).toISOString(),
    expires_at: note.expires_at === null ? null : new Date(note.expires_at).toISOString(),
  }
}
