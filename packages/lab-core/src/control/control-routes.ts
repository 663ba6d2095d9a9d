import type { LabClock } from '../clock.ts'
import type { Mme } from '../mme/mme.ts'
import { readCards } from '../phones/cards.ts'
import type { Fleet, NamedPhone } from '../phones/fleet.ts'

/** A request of the control API, already found to be none of a web page. */
export interface ControlRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly body: string
}

/** Its answer. */
export interface ControlAnswer {
  readonly status: number
  readonly body: unknown
}

/** What the control API works on. */
export interface ControlPlace {
  readonly fleet: Fleet
  readonly mme: Mme
  readonly clock: LabClock
}

/** A request that cannot be done. */
export class ControlError extends Error {
  readonly status: number
  constructor(message: string, options: { readonly status: number; readonly cause?: unknown }) {
    super(message, options)
    this.status = options.status
  }
}

/** An answer waits so long for phones to attach, ms. */
const SETTLE_MS = 2_000
const POLL_MS = 10
const BYTES_MAX = 1e15

/** Answers one request. Throws `ControlError`, `CardsError`. */
export async function control(request: ControlRequest, place: ControlPlace): Promise<ControlAnswer> {
  const [resource = '', name, action, ...more] = request.path.split('/').slice(1)
  if (more.length > 0) throw unknownPath()
  if (resource === 'radio') return radio(request.method, name, place)
  if (resource !== 'phones') throw unknownPath()
  if (name === undefined) return await phones(request, place)
  const chosen = chosenPhones(place.fleet, name)
  if (request.method === 'POST' && action !== undefined) {
    // All at once means all that can.
    const able = name === 'all' && action === 'data' ? chosen.filter(({ phone }) => phone.isAttached) : chosen
    for (const phone of able) act(phone, action, request, place)
    return await shown(chosen, name, place)
  }
  if (action !== undefined) throw unknownPath()
  if (request.method === 'DELETE') {
    await Promise.all(chosen.map((phone) => place.fleet.remove(phone.name)))
    return { status: 200, body: { removed: chosen.length } }
  }
  return await shown(chosen, name, place)
}

async function phones(request: ControlRequest, place: ControlPlace): Promise<ControlAnswer> {
  const { fleet } = place
  if (request.method === 'GET') return await shown(fleet.all(), 'all', place)
  if (request.method !== 'POST') throw new ControlError('GET or POST', { status: 405 })
  const inserted = await fleet.insert(readCards(request.body))
  if (request.query.get('on') !== 'false') for (const { phone } of inserted) phone.powerOn()
  return await shown(inserted, 'all', place)
}

function act(named: NamedPhone, action: string, request: ControlRequest, { fleet }: ControlPlace): void {
  const { phone } = named
  const run = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined
  if (run !== undefined) {
    run(phone)
    return
  }
  if (action !== 'data') throw unknownPath()
  const { up, down } = bytesIn(request.body)
  if (!fleet.move(named, up, down))
    throw new ControlError(`phone ${named.name} is not attached`, { status: 409 })
}

const ACTIONS: Readonly<Record<string, (phone: NamedPhone['phone']) => void>> = {
  attach: (phone) => phone.attach(),
  detach: (phone) => phone.detach(),
  idle: (phone) => phone.goIdle(),
  'service-request': (phone) => void phone.serviceRequest(),
  'power-on': (phone) => phone.powerOn(),
  'power-off': (phone) => phone.powerOff(),
}

/** Phones once none of them is attaching, or after a bounded wait. */
async function shown(
  chosen: readonly NamedPhone[],
  name: string,
  { fleet, clock }: ControlPlace,
): Promise<ControlAnswer> {
  for (let waited = 0; waited < SETTLE_MS; waited += POLL_MS) {
    if (!chosen.some(({ phone }) => phone.state === 'attaching')) break
    await clock.sleep(POLL_MS)
  }
  const items = chosen.map((named) => phoneRecord(named, fleet))
  return { status: 200, body: name === 'all' ? { phones: items } : items[0] }
}

/** A phone as it is shown: neither its IMSI nor its keys. */
function phoneRecord(named: NamedPhone, fleet: Fleet): object {
  const session = fleet.session(named)
  return {
    phone: named.name,
    state: named.phone.state,
    problem: named.phone.problem ?? null,
    apn: session?.apn ?? null,
    ipv4: session?.lease.ipv4 ?? null,
    ipv6: session?.lease.ipv6 ?? null,
    up_bytes: session?.upBytes ?? 0,
    down_bytes: session?.downBytes ?? 0,
  }
}

function radio(method: string, state: string | undefined, { mme }: ControlPlace): ControlAnswer {
  if (method === 'POST') {
    if (state !== 'up' && state !== 'down') throw unknownPath()
    mme.setRadio(state === 'up')
  } else if (state !== undefined) throw unknownPath()
  return { status: 200, body: { radio: mme.isRadioUp ? 'up' : 'down' } }
}

function chosenPhones(fleet: Fleet, name: string): readonly NamedPhone[] {
  if (name === 'all') return fleet.all()
  const found = fleet.find(name)
  if (found === undefined)
    throw new ControlError(`no phone ${/^[0-9a-f]{12}$/.test(name) ? name : ''}`, { status: 404 })
  return [found]
}

function bytesIn(body: string): { readonly up: number; readonly down: number } {
  const { up_bytes: up = 0, down_bytes: down = 0 } = parsed(body)
  if (!isCount(up) || !isCount(down))
    throw new ControlError('expected {"up_bytes": N, "down_bytes": N}, whole numbers from 0', { status: 400 })
  return { up, down }
}

function parsed(body: string): { readonly up_bytes?: unknown; readonly down_bytes?: unknown } {
  try {
    return (JSON.parse(body) ?? {}) as { up_bytes?: unknown; down_bytes?: unknown } // each part is checked
  } catch (cause) {
    throw new ControlError('the body is no JSON', { status: 400, cause })
  }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= BYTES_MAX
}

function unknownPath(): ControlError {
  return new ControlError('no such path; GET / says which there are', { status: 404 })
}
