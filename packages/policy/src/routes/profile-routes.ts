import {
  type Context,
  invalidTransition,
  type JsonSchema,
  notFound,
  objectSchema,
  ok,
  type RadioProfile,
  type Route,
  ranDriverRef,
  recordSchema,
  route,
  settingsFixed,
  type Tx,
  validationFailed,
} from '@steeple/contracts'
import { channelsAtKhz, khzFromMhz } from '@steeple/telecom'
import { wrong } from '../spectrum/asked.ts'
import { currentArm, putProfile, removeProfile, storedProfiles } from '../store.ts'
import { TX_KEY, TX_RESOURCE } from '../tx/gate-memory.ts'
import { fileProfiles, type TxControl } from '../tx/tx-control.ts'
import { JUDGED_PROFILE } from './shown-routes.ts'

/** More than a box has bands for: each question of the gate reads them all. */
const MOST_PROFILES = 64

/** What a name may be, as a key of `ran.profiles`. */
export const PROFILE_NAME = '^[a-z0-9][a-z0-9_-]{0,63}$'
/** The same, and no key, token or IMSI that somebody pasted: the audit trail keeps the name. */
const NEW_NAME = `^(?!.*[0-9]{14}|.*[0-9a-f]{32})${PROFILE_NAME.slice(1)}`
const ID_PARAMS: JsonSchema = objectSchema(
  { id: { type: 'string', pattern: NEW_NAME, description: 'The name of the profile.' } },
  ['id'],
)

/** What a profile may hold, as `ran.profiles` of the configuration file. A test holds both alike. */
export const PROFILE_PROPERTIES: Readonly<Record<string, JsonSchema>> = {
  technology: { type: 'string', enum: ['lte', 'nr'] },
  channel: { type: 'integer', minimum: 0, maximum: 3_279_165 },
  band: { type: 'string', pattern: '^[bn][1-9][0-9]{0,2}$' },
  bandwidth_mhz: { type: 'number', exclusiveMinimum: 0, maximum: 2000 },
  eirp_dbm: { type: 'number', minimum: -60, maximum: 90 },
  tx_gain_db: { type: 'number', exclusiveMinimum: 0, maximum: 100 },
  rx_gain_db: { type: 'number', exclusiveMinimum: 0, maximum: 100 },
}

const PROFILE_BODY: JsonSchema = objectSchema(
  {
    ...PROFILE_PROPERTIES,
    channel: { ...PROFILE_PROPERTIES.channel, description: 'Downlink EARFCN or NR-ARFCN.' },
    frequency_mhz: {
      type: 'number',
      exclusiveMinimum: 0,
      maximum: 100_000,
      description:
        'Instead of channel: the centre of the downlink. The nearest channel of the band is taken.',
    },
    band: { ...PROFILE_PROPERTIES.band, description: 'b3, n78. Required with frequency_mhz.' },
  },
  ['technology', 'bandwidth_mhz'],
)

interface ProfileBody extends Omit<RadioProfile, 'channel'> {
  readonly channel?: number
  readonly frequency_mhz?: number
}

/**
 * `PUT` and `DELETE /v1/tx/profiles/{id}`: radio profiles that do not stand in the configuration file.
 *
 * None that is armed changes or goes, so that what is on air is what was armed. A profile opens no layer of the gate: each arm and each
 * permit judges it.
 */
export function profileRoutes(context: Context, control: Pick<TxControl, 'judge'>): readonly Route[] {
  return [putRoute(context, control), deleteRoute(context), rehearsalRoute(context)]
}

function putRoute(context: Context, control: Pick<TxControl, 'judge'>): Route {
  return route<{ readonly id: string }, { readonly dry_run?: boolean }, ProfileBody>({
    method: 'PUT',
    path: '/v1/tx/profiles/:id',
    role: 'sim:admin',
    summary: 'Make or change a radio profile',
    description:
      'Answers with the profile as GET /v1/tx/profiles shows it: its frequencies, what keeps it off the air, and why the ' +
      'radio cannot send it. It may be stored all the same. A dry run changes nothing. A profile of the configuration ' +
      'file is changed in the file. An armed one is refused: disarm first.',
    example: { technology: 'lte', band: 'b3', frequency_mhz: 1815, bandwidth_mhz: 10, eirp_dbm: 20 },
    schema: {
      params: ID_PARAMS,
      query: objectSchema({ dry_run: { type: 'boolean' } }),
      body: PROFILE_BODY,
      response: JUDGED_PROFILE,
    },
    errors: ['validation_failed', 'invalid_transition', 'settings_fixed', 'store_corrupt'],
    audit: 'tx.profile_set',
    handle: async (request) => {
      const { id } = request.params
      refuseFixed(context, id)
      const profile = profileFrom(request.body)
      const reply = ok(await control.judge(id, profile))
      if (request.query.dry_run === true) return reply
      return request.mutate(id, async (tx) => {
        await refuseArmed(tx, id)
        const stored = await storedProfiles(tx)
        const before = Object.hasOwn(stored, id) ? stored[id] : undefined
        if (before === undefined && Object.keys(stored).length >= MOST_PROFILES)
          throw validationFailed(`there are ${MOST_PROFILES} radio profiles already; remove one first`)
        await putProfile(tx, id, profile)
        tx.audit({ detail: { old: before ?? null, new: profile } })
        tx.dirty(TX_RESOURCE, TX_KEY)
        return reply
      })
    },
  })
}

function deleteRoute(context: Context): Route {
  return route<{ readonly id: string }, unknown, unknown>({
    method: 'DELETE',
    path: '/v1/tx/profiles/:id',
    role: 'sim:admin',
    summary: 'Remove a radio profile',
    description:
      'One of the configuration file is removed in the file. An armed one is refused: disarm first.',
    schema: { params: ID_PARAMS, status: 204 },
    errors: ['not_found', 'invalid_transition', 'settings_fixed', 'store_corrupt'],
    audit: 'tx.profile_remove',
    handle: async (request) => {
      const { id } = request.params
      refuseFixed(context, id)
      return request.mutate(id, async (tx) => {
        await refuseArmed(tx, id)
        const stored = await storedProfiles(tx)
        if (!Object.hasOwn(stored, id)) throw notFound(`radio profile ${id}`)
        await removeProfile(tx, id)
        tx.audit({ detail: { old: stored[id] } })
        tx.dirty(TX_RESOURCE, TX_KEY)
        return { status: 204 }
      })
    },
  })
}

const TEXT: JsonSchema = { type: 'string' }
const REHEARSAL: JsonSchema = recordSchema({
  program: { type: ['string', 'null'], description: 'srsenb, gnb. Null: no radio program is configured.' },
  files: {
    type: 'array',
    items: recordSchema({ name: TEXT, text: TEXT }),
    description: 'The configuration files that would be written.',
  },
  checks: {
    type: 'array',
    items: recordSchema({
      check: { ...TEXT, description: 'configuration, program, machine. May grow.' },
      problems: { type: 'array', items: TEXT, description: 'Empty: it is passed.' },
    }),
  },
})

function rehearsalRoute(context: Context): Route {
  return route<{ readonly id: string }, unknown, unknown>({
    method: 'GET',
    path: '/v1/tx/profiles/:id/dry-run',
    role: 'sim:admin',
    summary: 'Show what an arm of a radio profile would start, without starting it',
    description:
      'The configuration files of the radio program, and what the driver looks at before it starts the program. The gate is asked by ' +
      'GET /v1/tx/profiles.',
    schema: {
      params: objectSchema({ id: { type: 'string', maxLength: 64 } }, ['id']),
      response: REHEARSAL,
    },
    errors: ['not_found', 'store_corrupt'],
    handle: async ({ params: { id } }) => {
      const profiles = { ...(await storedProfiles(context.db)), ...fileProfiles(context) }
      const profile = Object.hasOwn(profiles, id) ? profiles[id] : undefined
      if (profile === undefined) throw notFound('that radio profile')
      const found = await context.maybe(ranDriverRef)?.rehearse?.(profile)
      return ok(found ?? { program: null, files: [], checks: [] })
    },
  })
}

function refuseFixed(context: Context, id: string): void {
  if (!Object.hasOwn(fileProfiles(context), id)) return
  throw settingsFixed(`radio profile ${id} stands in the configuration file (ran.profiles); change it there`)
}

async function refuseArmed(tx: Tx, id: string): Promise<void> {
  const arm = await currentArm(tx)
  if (arm?.profileId !== id) return
  throw invalidTransition(`TX is armed with profile ${id}; disarm it before you change or remove the profile`)
}

/** The profile that is meant. Throws `validation_failed` when it names no channel, or two. */
function profileFrom({ channel, frequency_mhz: mhz, ...rest }: ProfileBody): RadioProfile {
  if (channel !== undefined && mhz === undefined) return { ...rest, channel }
  if (channel !== undefined || mhz === undefined)
    throw wrong('/channel', 'name one of channel and frequency_mhz')
  if (rest.band === undefined) throw wrong('/band', 'frequency_mhz needs a band, such as b3 or n78')
  const found = channelsAtKhz(rest.technology, khzFromMhz(mhz)).find(({ band }) => band === rest.band)
  if (found === undefined)
    throw wrong('/frequency_mhz', `band ${rest.band} has no ${rest.technology} channel at ${mhz} MHz`)
  return { ...rest, channel: found.channel }
}
