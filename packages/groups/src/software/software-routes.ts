import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { deflateRaw } from 'node:zlib'
import {
  defineError,
  type ErrorFactory,
  type JsonSchema,
  launcherRef,
  NULLABLE_TIMESTAMP_SCHEMA,
  nodeStateConflict,
  objectSchema,
  ok,
  type Route,
  recordSchema,
  route,
  serviceInfoRef,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
  timestampOrNull,
} from '@steeple/contracts'
import { ALL, type Parts } from '../context.ts'
import { ONLY, ROLLOUTS, SOFTWARE, type SoftwareRow } from '../store.ts'
import { SOFTWARE_BOX, wentBack } from './box.ts'
import { type HeldBuild, isTrusted, octetsOf, SIGNATURE_FILE } from './builds.ts'
import { rolloutOf, STAGES } from './rollout.ts'
import { BUILD_ID, TERMS, type Terms } from './terms.ts'
import { readTrial } from './trial.ts'

const MOST_OCTETS = 1_048_576
const BUILD: JsonSchema = recordSchema({
  build: BUILD_ID,
  version: { type: 'string' },
  made_at: TIMESTAMP_SCHEMA,
  arch: { type: 'string' },
  folder: { type: 'string' },
  trusted: { type: 'boolean', description: 'Whether its key is in groups.build_keys here.' },
})
const SOFTWARE_SCHEMA: JsonSchema = recordSchema({
  running: recordSchema({
    build: {
      ...BUILD_ID,
      type: ['string', 'null'],
      description: 'Null: the one that was installed by hand.',
    },
    version: { type: 'string' },
  }),
  launched: {
    type: 'boolean',
    description: 'Whether bin/launch has started the service: otherwise it runs no other build.',
  },
  trial: {
    type: ['string', 'null'],
    description: 'How far a trial is: new, back, returned. Null: there is none.',
  },
  wanted: {
    ...recordSchema({
      build: BUILD_ID,
      status: {
        type: 'string',
        description:
          'waiting, fetching, trying, runs, went_back (it was not well in time), refused. More may come.',
      },
      problem: { type: ['string', 'null'] },
      since: NULLABLE_TIMESTAMP_SCHEMA,
    }),
    type: ['object', 'null'],
  },
  went_back: { type: 'array', items: BUILD_ID, description: 'Builds that were not well on this box.' },
  rollouts: {
    type: 'array',
    items: recordSchema({
      build: BUILD_ID,
      stage: { type: 'string', enum: [...STAGES], description: 'stopped: a box refused it or went back.' },
      given: {
        type: 'array',
        items: { type: 'string' },
        description: 'Node ids of boxes that are to have it.',
      },
      well_since: {
        ...NULLABLE_TIMESTAMP_SCHEMA,
        description: 'Since when all boxes of the stage are well.',
      },
      stopped_by: { type: ['string', 'null'], description: 'Node id of the box that did not stay with it.' },
    }),
    description: 'At a hub: how far builds of groups are let out.',
  },
  builds: { type: 'array', items: BUILD, description: 'Signed builds in the folder of builds.' },
})
const OF_BUILD: JsonSchema = recordSchema({ build: BUILD_ID })

/** `/v1/software`: which build this box runs, and builds for others. */
export function softwareRoutes(parts: Parts): readonly Route[] {
  return [showRoute(parts), setRoute(parts), signatureRoute(parts), octetsRoute(parts)]
}

function showRoute(parts: Parts): Route {
  return route({
    method: 'GET',
    path: '/v1/software',
    role: 'operator',
    summary: 'Show which build this box runs, which one it is to run, and the signed builds that it has',
    description: 'A build is in the folder `builds` of the data directory.',
    schema: { response: SOFTWARE_SCHEMA },
    handle: async () => ok(await shown(parts)),
  })
}

interface Order extends Terms {
  readonly build: string
  readonly again?: boolean
}

function setRoute(parts: Parts): Route {
  const { context } = parts
  return route<unknown, unknown, Order>({
    method: 'PUT',
    path: '/v1/software',
    role: 'admin',
    summary: 'Have this box run another build',
    description:
      'A build that is not here is fetched from the root of the mesh. The box keeps its build and copies its state, restarts, and goes back ' +
      'by itself when it is not well in time. It waits while a restore runs and while the transmitter is armed.',
    example: { build: '0a1b2c3d4e5f' },
    schema: {
      body: objectSchema(
        {
          build: BUILD_ID,
          ...TERMS,
          while_armed: {
            type: 'boolean',
            description: 'Also while the transmitter is armed. The restart takes it off the air.',
          },
          again: { type: 'boolean', description: 'Also when this box went back from it before.' },
        },
        ['build'],
      ),
      response: SOFTWARE_SCHEMA,
    },
    audit: 'software.set',
    errors: ['node_state_conflict'],
    handle: async (request) => {
      const { build } = request.body
      if (context.maybe(launcherRef) === undefined)
        throw nodeStateConflict(
          'this service was not started by bin/launch, so nothing here would start another build',
        )
      await request.mutate(build, async (tx) => {
        const before = await SOFTWARE.find(tx, { id: ONLY })
        const row = ordered(before, request.body, context.clock.nowMs())
        tx.audit({ detail: { terms: row.terms } })
        await SOFTWARE.put(tx, row)
        tx.dirty(SOFTWARE_BOX, ALL, true)
        return { body: {} }
      })
      return ok(await shown(parts))
    },
  })
}

/** What is to run from now on. The same order again changes nothing but its terms. Throws `node_state_conflict`. */
function ordered(before: SoftwareRow | undefined, order: Order, nowMs: number): SoftwareRow {
  const { build, again = false, ...terms } = order
  const failed = before === undefined ? [] : wentBack(before)
  if (failed.includes(build) && !again)
    throw nodeStateConflict(`this box went back from build ${build}: it was not well here; make a new one`)
  const row = { id: ONLY, build, terms: JSON.stringify(terms) }
  if (before?.build === build && before.status !== 'refused' && !again) return { ...before, ...row }
  const went_back = JSON.stringify(failed.filter((one) => one !== build))
  return { ...row, status: 'waiting', problem: null, at_ms: nowMs, went_back }
}

async function shown({ context, builds }: Parts): Promise<object> {
  const launcher = context.maybe(launcherRef)
  const held = await builds.list()
  const row = await SOFTWARE.find(context.db, { id: ONLY })
  return {
    running: {
      build: held.find(({ folder }) => folder === launcher?.running)?.id ?? null,
      version: context.use(serviceInfoRef).version,
    },
    launched: launcher !== undefined,
    trial: readTrial(builds.dir)?.phase ?? null,
    wanted:
      row === undefined
        ? null
        : { build: row.build, status: row.status, problem: row.problem, since: timestampOrNull(row.at_ms) },
    went_back: row === undefined ? [] : wentBack(row),
    rollouts: (await ROLLOUTS.select(context.db, 'order by build')).map((row) => ({
      ...{ build: row.build, stage: row.stage, given: rolloutOf(row).given },
      ...{ well_since: timestampOrNull(row.well_since_ms), stopped_by: row.stopped_by },
    })),
    builds: held.map((build) => ({
      build: build.id,
      version: build.version,
      made_at: timestampFromMs(build.madeAtMs),
      arch: build.arch,
      folder: build.folder,
      trusted: isTrusted(build, context.config.build_keys),
    })),
  }
}

const buildNotFound: ErrorFactory = defineError(
  'build_not_found',
  404,
  'this box has no %s; svc software show lists what it has',
)

async function heldBuild({ builds }: Parts, id: string): Promise<HeldBuild> {
  const build = await builds.find(id)
  if (build === undefined) throw buildNotFound(`build ${id}`)
  return build
}

function signatureRoute(parts: Parts): Route {
  return route<{ readonly build: string }, unknown, unknown>({
    method: 'GET',
    path: '/v1/software/:build',
    role: 'operator',
    nodeToo: true,
    summary: 'Get the signature of a build: the hashes of all its files',
    description: 'For members of the mesh, which fetch what they do not have.',
    schema: {
      params: OF_BUILD,
      response: recordSchema({
        signature: { type: 'string', description: 'The file signature.json, as it is.' },
        octets: { type: 'integer', description: 'Of all files.' },
      }),
    },
    errors: ['build_not_found'],
    handle: async ({ params }) => {
      const build = await heldBuild(parts, params.build)
      const root = join(parts.builds.dir, build.folder)
      const signature = await readFile(join(root, SIGNATURE_FILE), 'utf8')
      return ok({ signature, octets: await octetsOf(root, build) })
    },
  })
}

interface Asked {
  readonly path: string
  readonly from: number
  readonly most: number
}

function octetsRoute(parts: Parts): Route {
  return route<{ readonly build: string }, Asked, unknown>({
    method: 'GET',
    path: '/v1/software/:build/octets',
    role: 'operator',
    nodeToo: true,
    summary: 'Get a piece of a file of a build',
    description: 'Whoever was cut off asks on from where it is.',
    schema: {
      params: OF_BUILD,
      query: objectSchema(
        {
          path: { type: 'string', minLength: 1, maxLength: 1_000, description: 'As in the signature.' },
          from: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'In octets.' },
          most: { type: 'integer', minimum: 1, maximum: MOST_OCTETS },
        },
        ['path', 'from', 'most'],
      ),
      response: recordSchema({
        size: { type: 'integer', description: 'Of the whole file.' },
        octets: { type: 'string', description: 'Deflated (RFC 1951), base64.' },
      }),
    },
    errors: ['build_not_found'],
    handle: async ({ params, query: { path, from, most } }) => {
      const build = await heldBuild(parts, params.build)
      if (!build.files.has(path)) throw buildNotFound(`${path} in build ${build.id}`)
      const file = await open(join(parts.builds.dir, build.folder, path))
      try {
        const { size } = await file.stat()
        const piece = Buffer.alloc(Math.max(0, Math.min(most, size - from)))
        if (piece.length > 0) await file.read(piece, { position: from })
        const packed = await promisify(deflateRaw)(piece)
        return ok({ size, octets: packed.toString('base64') })
      } finally {
        await file.close()
      }
    },
  })
}
