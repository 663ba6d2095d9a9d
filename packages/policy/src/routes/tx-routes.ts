import {
  type Clock,
  type JsonSchema,
  messageOf,
  objectSchema,
  ok,
  type Principal,
  type Reply,
  type Request,
  type Route,
  recordSchema,
  route,
  southboundUnavailable,
  storeUnavailable,
  type TxGateState,
} from '@steeple/contracts'
import { principalText } from '../store.ts'
import { within } from '../tx/disarm-note.ts'
import type { Transmitters } from '../tx/transmitters.ts'
import type { TxControl } from '../tx/tx-control.ts'
import { FALLBACK } from './shown-routes.ts'

interface DisarmParts {
  readonly control: Pick<TxControl, 'beginDisarm' | 'hold'>
  readonly transmitters: Pick<Transmitters, 'stop'>
  readonly nowMs: () => number
}

/** How long a disarm waits for the store before it answers that the record is not in. */
const RECORD_BOUND_MS = 1_000

/**
 * Takes the transmitter off the air. In the turn of the call and waiting for nothing the stop begins, the note is written that
 * keeps the disarm over a crash, and the record is handed to the store.
 *
 * `record` stores the disarm as of the time that it is given. Throws `southbound_unavailable` when the stop is not
 * confirmed, and `store_unavailable` when the store does not have the record within a second: then the transmitter is off,
 * and held off until the store has it.
 */
export async function disarmNow(
  { control, transmitters, nowMs }: DisarmParts,
  principal: Principal,
  record: (atMs: number) => Promise<unknown>,
): Promise<void> {
  const atMs = nowMs()
  const noted = control.hold(principalText(principal), atMs)
  const stopping = transmitters.stop()
  const [stopped, stored] = await Promise.allSettled([stopping, recordInTime(control, record(atMs))])
  const unstored = stored.status === 'rejected' ? unstoredText(stored.reason, await noted) : undefined
  if (stopped.status === 'rejected') throw unconfirmed(stopped.reason, unstored)
  if (unstored !== undefined && stored.status === 'rejected')
    throw storeUnavailable(`the transmitter is off, but ${unstored}`, { cause: stored.reason })
}

/** Rejects when the record is not in within the bound. It goes on being stored, and nothing is permitted until that is over. */
async function recordInTime(control: DisarmParts['control'], record: Promise<unknown>): Promise<void> {
  const stored = record.finally(control.beginDisarm())
  const late = (): Error => new Error(`the store has not taken it within ${RECORD_BOUND_MS} ms`)
  await within(RECORD_BOUND_MS, stored, late)
}

function unconfirmed(reason: unknown, unstored: string | undefined): Error {
  const record = unstored ?? 'TX is disarmed'
  return southboundUnavailable(`${messageOf(reason)}. The record: ${record}`, { cause: reason })
}

function unstoredText(reason: unknown, isNoted: boolean): string {
  const restart = isNoted
    ? 'a restart before that does not put it on air either'
    : 'it could not be noted on the disk within a second, so do not restart the service before that: it would put TX on air again'
  return `the disarm is not in the store: ${messageOf(reason)}. Nothing goes on air until it is stored, by itself; ${restart}`
}

interface ArmBody {
  readonly arm: boolean
  readonly profile_id?: string
}

const ARM_BODY: JsonSchema = objectSchema(
  {
    arm: { type: 'boolean' },
    profile_id: {
      type: 'string',
      minLength: 1,
      maxLength: 64,
      description: 'A radio profile of GET /v1/tx/profiles. Required to arm.',
    },
  },
  ['arm'],
)

const gate: JsonSchema = { type: 'string', enum: ['set', 'missing'] }
const STATE: JsonSchema = recordSchema({
  armed: { type: 'boolean' },
  gates: recordSchema({ country_code: gate, license_ack: gate, allow_list: gate }),
  profile: { type: ['string', 'null'] },
  transmitter: {
    type: 'string',
    description:
      'off: everything that was permitted to transmit has reported that it is off. on: something is permitted to ' +
      'transmit. unconfirmed: it had to stop and has not reported it; it may be on air. More may come.',
  },
  fallback: FALLBACK,
})

/**
 * What the mutation of a disarm leaves for its Idempotency-Key. As a 5xx it is not kept, so that a retry after an
 * unconfirmed stop asks the transmitter again instead of replaying a success that never was.
 */
const NOT_CONFIRMED: Reply = {
  status: southboundUnavailable.status,
  body: {
    error: { code: southboundUnavailable.code, message: 'TX is disarmed; the stop is not confirmed yet' },
  },
}

/** The TX gate's routes: state, arm, disarm. */
export function txRoutes(control: TxControl, transmitters: Transmitters, clock: Clock): readonly Route[] {
  const nowMs = (): number => clock.nowMs()
  const stateReply = async (): Promise<Reply> => ok(stateRecord(await control.state(), control))
  const disarm = async (request: Request<unknown, unknown, unknown>): Promise<Reply> => {
    const record = (atMs: number): Promise<Reply> =>
      request.mutate('tx', async (tx) => {
        await control.disarm(tx, request.principal, atMs)
        tx.event({ type: 'tx.disarm', subject: 'tx' })
        return NOT_CONFIRMED
      })
    await disarmNow({ control, transmitters, nowMs }, request.principal, record)
    return stateReply()
  }
  return [
    route({
      method: 'GET',
      path: '/v1/tx/arm',
      role: 'viewer',
      summary: 'Show the state of the TX gate',
      description:
        'Whether TX is armed, which of the three layers are green, and whether the transmitter has confirmed what it does.',
      schema: { response: STATE },
      errors: ['store_corrupt'],
      handle: stateReply,
    }),
    armRoute(control, disarm),
    route({
      method: 'POST',
      path: '/v1/tx/disarm',
      role: 'operator',
      summary: 'Disarm TX and stop the transmitter',
      urgent: true,
      description:
        'Stops the transmitter at once, in any state of the store, and answers when the transmitter has confirmed that ' +
        'it is off. Without a confirmation within 7 s: 503 southbound_unavailable. TX stays disarmed, and the stop is ' +
        'repeated until it is confirmed. When the store has not taken the disarm within 1 s: 503 store_unavailable. The ' +
        'transmitter is off and stays off until the store has taken it, also over a restart. Only the sender can be ' +
        'refused: query and body are ignored, and with a used Idempotency-Key it stops once more.',
      unrefusable: true,
      schema: { response: STATE },
      errors: ['southbound_unavailable', 'store_unavailable', 'store_corrupt'],
      audit: 'tx.disarm',
      handle: disarm,
    }),
  ]
}

function armRoute(
  control: TxControl,
  disarm: (request: Request<unknown, unknown, ArmBody>) => Promise<Reply>,
): Route {
  const arm = (request: Request<unknown, unknown, ArmBody>): Promise<Reply> =>
    request.mutate('tx', async (tx) =>
      ok(stateRecord(await control.arm(tx, request.principal, request.body.profile_id ?? ''), control)),
    )
  return route<unknown, unknown, ArmBody>({
    method: 'POST',
    path: '/v1/tx/arm',
    role: 'sim:admin',
    summary: 'Arm or disarm TX',
    urgent: true,
    description:
      'Arms a radio profile when all three layers are green. Otherwise 409 names each missing one, for any profile_id. ' +
      'Another profile can be armed only after a disarm. A refused request does not count against tx_arm_per_hour. With ' +
      'arm: false it disarms as POST /v1/tx/disarm does, and everything else in the body is ignored.',
    example: { arm: true, profile_id: 'default' },
    schema: { body: ARM_BODY, response: STATE },
    errors: [
      'validation_failed',
      'tx_gate_closed',
      'invalid_transition',
      'southbound_unavailable',
      'store_unavailable',
      'store_corrupt',
    ],
    audit: 'tx.arm',
    rateLimit: { name: 'tx_arm', cost: (body: ArmBody) => (body.arm ? 1 : 0), isOfSuccess: true },
    unrefusable: disarmOf,
    // Missing gates come before what is wrong with the request.
    onRefused: async ({ body }) => {
      if (Object(body).arm === true) await control.refuseWhileClosed()
    },
    handle: (request) => (request.body.arm ? arm(request) : disarm(request)),
  })
}

/** The body of a disarm among those of `POST /v1/tx/arm`, whatever stands beside it, and although it is no whole JSON. */
function disarmOf(octets: Uint8Array): ArmBody | undefined {
  const text = Buffer.from(octets).toString()
  let isDisarm: boolean
  try {
    isDisarm = Object(JSON.parse(text)).arm === false
  } catch {
    isDisarm = /"arm"\s*:\s*false\b/.test(text)
  }
  return isDisarm ? { arm: false } : undefined
}

function stateRecord(
  state: TxGateState,
  control: Pick<TxControl, 'fallback'>,
): Readonly<Record<string, unknown>> {
  return {
    armed: state.armed,
    gates: state.gates,
    profile: state.profile ?? null,
    transmitter: state.transmitter,
    fallback: control.fallback() ?? null,
  }
}
