import {
  type Context,
  type CoreDriver,
  coreDriverRef,
  type JsonSchema,
  objectSchema,
  ok,
  type Route,
  route,
  southboundUnavailable,
} from '@steeple/contracts'
import { coreDesired } from './desired.ts'
import { noDriverWords } from './plan.ts'

interface TakeOverBody {
  readonly files: readonly string[]
}

interface RestoreBody {
  readonly copy?: string
}

const PATHS: JsonSchema = { type: 'array', items: { type: 'string' } }
const COPY = '20261128T084506994Z-7a57fc5f'

/** `POST /v1/core/take-over` and `POST /v1/core/restore-original`; `wake` has the core looked at. */
export function takeOverRoutes(context: Context, wake: () => void): readonly Route[] {
  return [takeOverRoute(context, wake), restoreRoute(context, wake)]
}

function takeOverRoute(context: Context, wake: () => void): Route {
  return route<unknown, unknown, TakeOverBody>({
    method: 'POST',
    path: '/v1/core/take-over',
    role: 'admin',
    example: { files: ['amf.yaml', 'mme.yaml'] },
    summary: 'Agree that the service replaces files of the core that it did not write',
    description:
      'Before this, nothing is applied over files of others. Name exactly the files in `held` of the plan. A copy of ' +
      'them is kept for good. If the core has a problem with the new files, they are rolled back.',
    schema: {
      body: objectSchema({ files: { ...PATHS, maxItems: 1_000 } }, ['files']),
      response: objectSchema({ files: PATHS, copy: { type: 'string', description: 'Folder of the copy.' } }, [
        'files',
        'copy',
      ]),
    },
    errors: ['validation_failed', 'southbound_unavailable'],
    audit: 'core.take_over',
    handle: async (request) => {
      const { files } = request.body
      const driver = driverOf(context)
      if (driver.takeOver === undefined)
        throw southboundUnavailable('this core driver writes over no files of others')
      const set = await driver.render(coreDesired(context))
      const copy = await driver.takeOver(set, files, request.signal)
      await request.mutate('core', async (tx) => {
        tx.audit({ detail: { core: context.settings.core, files, copy } })
        return { status: 204 }
      })
      wake()
      return ok({ files, copy })
    },
  })
}

function restoreRoute(context: Context, wake: () => void): Route {
  return route<unknown, unknown, RestoreBody>({
    method: 'POST',
    path: '/v1/core/restore-original',
    role: 'admin',
    example: { copy: COPY },
    summary: 'Restore files of the core from before the service replaced them',
    description:
      'Restores the copy of that name, or the oldest (`originals` of the plan). Files that only the service wrote are ' +
      'removed, and the daemons restart. Nothing is applied again before `POST /v1/core/take-over`. With ' +
      '`southbound.driver: none` no daemon is restarted.',
    schema: {
      body: objectSchema({ copy: { type: 'string', maxLength: 64 } }),
      response: objectSchema(
        {
          copy: { type: 'string' },
          changed: PATHS,
          restarted: PATHS,
          problem: {
            type: ['string', 'null'],
            description: 'Why daemons have not restarted or are not well; null when all are.',
          },
        },
        ['copy', 'changed', 'restarted', 'problem'],
      ),
    },
    errors: ['validation_failed', 'not_found', 'southbound_unavailable'],
    audit: 'core.restore_original',
    handle: async (request) => {
      const driver = driverOf(context)
      if (driver.restoreOriginal === undefined)
        throw southboundUnavailable('this core driver keeps no files of others')
      const set = await driver.render(coreDesired(context))
      const done = await driver.restoreOriginal(set, request.body.copy, request.signal)
      const { copy, changed, restarted, problem = null } = done
      await request.mutate('core', async (tx) => {
        tx.audit({ detail: { core: context.settings.core, copy, changed, restarted, problem } })
        return { status: 204 }
      })
      wake()
      return ok({ copy, changed, restarted, problem })
    },
  })
}

function driverOf(context: Context): CoreDriver {
  const driver = context.maybe(coreDriverRef)
  if (driver === undefined) throw southboundUnavailable(noDriverWords(context.settings.core))
  return driver
}
