import { isRecord, jsonIn, msFromTimestamp, type OwnQuestion } from '@steeple/contracts'
import { differences, type PartName, personKey, pointerTo, type Values } from './state.ts'

/** One request by which a box comes nearer to what it is to have. */
export interface Step {
  /** Of what it is about, from the state. */
  readonly pointer: string
  readonly question: OwnQuestion
  /** Refusals that say that there is nothing to do any more. */
  readonly done?: readonly string[]
}
/** What cannot even be asked for. */
export interface Hindrance {
  readonly pointer: string
  readonly code: string
  readonly message: string
}

/** How a part is looked at and set: by routes of the box alone. */
interface Part {
  /** Where it is seen. */
  readonly look: `/v1/${string}`
  /** What is there, in the form of what is to be. */
  seen(answer: Values, desired: Values): Values
  /** What is asked for what differs. */
  steps(desired: Values, seen: Values, answer: Values, nowMs: number): readonly (Step | Hindrance)[]
  /** What is still under way when all was asked, or came to nothing; nothing when absent. */
  rest?(desired: Values, answer: Values): (Hindrance & { readonly isPassing: boolean }) | undefined
}

/** All that a hub can have a box do. */
export const HOW: Readonly<Record<PartName, Part>> = {
  policy: {
    look: '/v1/policy',
    seen: (answer) => answer,
    steps: (desired, seen) =>
      same(desired, seen)
        ? []
        : [{ pointer: '', question: { method: 'PUT', path: '/v1/policy', body: desired } }],
  },
  plugins: { look: '/v1/plugins', seen: plugins, steps: pluginSteps },
  alert_rules: { look: '/v1/settings', seen: alertRules, steps: alertSteps },
  licenses: {
    look: '/v1/policy',
    seen: ({ spectrum }, desired) =>
      Object.fromEntries(Object.keys(desired).map((node) => [node, transmittable(spectrum)])),
    steps: (desired) =>
      Object.entries(desired).map(([node, body]) => ({
        pointer: at('licenses', node),
        question: { method: 'POST', path: '/v1/policy/license/signed', body },
      })),
  },
  radio_profiles: { look: '/v1/tx/profiles', seen: profiles, steps: profileSteps },
  users: { look: '/v1/users', seen: users, steps: userSteps },
  invitations: { look: '/v1/users/invitations', seen: () => ({}), steps: invitationSteps },
  software: {
    look: '/v1/software',
    seen: ({ running }) => ({ build: isRecord(running) ? running.build : null }),
    steps: ({ at_once, settle_minutes, ...desired }, seen) =>
      desired.build === seen.build
        ? []
        : [{ pointer: '/software', question: { method: 'PUT', path: '/v1/software', body: desired } }],
    rest: softwareRest,
  },
}

function same(desired: unknown, seen: unknown): boolean {
  return differences(desired, seen).length === 0
}

function listIn(answer: Values, key: string): readonly Values[] {
  const list = answer[key]
  return Array.isArray(list) ? list.filter(isRecord) : []
}

function at(part: PartName, name: string): string {
  return pointerTo(`/${part}`, name)
}

/** Those of `desired` that are otherwise, by name. */
function wanting(desired: Values, seen: Values): readonly (readonly [name: string, value: unknown])[] {
  return Object.entries(desired).filter(([name, value]) => !same(value, seen[name]))
}

function plugins(answer: Values): Values {
  return Object.fromEntries(
    listIn(answer, 'plugins').map(({ name, state, version }) => [
      String(name),
      { enabled: state !== 'disabled', version },
    ]),
  )
}

function pluginSteps(desired: Values, seen: Values): readonly Step[] {
  return wanting(desired, seen).flatMap(([name, value]) => {
    const { enabled, version } = isRecord(value) ? value : {}
    const has: unknown = seen[name]
    const before = isRecord(has) ? has : {}
    const to = (verb: string, body?: object): Step => ({
      pointer: at('plugins', name),
      question: {
        method: 'POST',
        path: `/v1/plugins/${encodeURIComponent(name)}/${verb}`,
        ...(body && { body }),
      },
    })
    if (enabled === false) return before.enabled === false ? [] : [to('disable')]
    return [
      ...(enabled === true && before.enabled !== true ? [to('enable')] : []),
      ...(version === undefined || before.version === version
        ? []
        : [to('load', { version, rollback: true })]),
    ]
  })
}

/** What of the rules a licence says. */
function transmittable(spectrum: unknown): Values {
  const { allow_list, license } = isRecord(spectrum) ? spectrum : {}
  const { reference, holder, expires_at } = isRecord(license) ? license : {}
  return { reference, holder, expires_at: momentOf(expires_at), allow_list }
}

/** One moment is written in several ways. */
function momentOf(timestamp: unknown): unknown {
  return typeof timestamp === 'string' ? (msFromTimestamp(timestamp) ?? timestamp) : null
}

/** The same, of a signed licence as it is wanted. */
function licensed(signed: unknown): Values {
  const text = isRecord(signed) ? signed.license : undefined
  const license = typeof text === 'string' ? jsonIn(text) : undefined
  return transmittable(isRecord(license) ? { allow_list: license.allow_list, license } : undefined)
}

const ALERT_KEYS = { rules: 'alerts.rules', disabled_rules: 'alerts.disabled_rules' } as const

function alertRules(answer: Values): Values {
  const settings = new Map(listIn(answer, 'settings').map(({ key, value }) => [key, value]))
  return Object.fromEntries(Object.entries(ALERT_KEYS).map(([name, key]) => [name, settings.get(key)]))
}

function alertSteps(desired: Values, seen: Values): readonly Step[] {
  const settings = Object.fromEntries(
    Object.entries(ALERT_KEYS)
      .filter(([name]) => Object.hasOwn(desired, name) && !same(desired[name], seen[name]))
      .map(([name, key]) => [key, desired[name]]),
  )
  if (Object.keys(settings).length === 0) return []
  return [{ pointer: '/alert_rules', question: { method: 'PUT', path: '/v1/settings', body: { settings } } }]
}

/** Half a channel of the coarsest raster. */
const NEAR_MHZ = 0.05

function profiles(answer: Values, desired: Values): Values {
  return Object.fromEntries(
    listIn(answer, 'profiles').map((profile) => {
      const { low_mhz: low, high_mhz: high } = isRecord(profile.downlink) ? profile.downlink : {}
      const { frequency_mhz: asked } = named(desired, String(profile.id))
      const centre = (Number(low) + Number(high)) / 2
      const isNear = Math.abs(centre - Number(asked)) <= NEAR_MHZ
      return [String(profile.id), { ...profile, frequency_mhz: isNear ? asked : centre }]
    }),
  )
}

function named(desired: Values, name: string): Values {
  const value = Object.hasOwn(desired, name) ? desired[name] : undefined
  return isRecord(value) ? value : {}
}

function profileSteps(desired: Values, seen: Values): readonly Step[] {
  return wanting(desired, seen).map(([name, body]): Step => {
    const path = `/v1/tx/profiles/${encodeURIComponent(name)}`
    const question: OwnQuestion = body === null ? { method: 'DELETE', path } : { method: 'PUT', path, body }
    return { pointer: at('radio_profiles', name), question }
  })
}

function users(answer: Values): Values {
  return Object.fromEntries(
    listIn(answer, 'users').map(({ name, roles }) => [
      String(name),
      { roles: Array.isArray(roles) ? roles.toSorted() : [] },
    ]),
  )
}

/** Whoever may arm, or give that right, is the box's own. */
const OWN_ROLES: ReadonlySet<unknown> = new Set(['admin', 'sim:admin'])

function userSteps(desired: Values, seen: Values, answer: Values): readonly (Step | Hindrance)[] {
  const ids = new Map(listIn(answer, 'users').map(({ name, id }) => [name, id]))
  return wanting(comparable('users', desired), seen).map(([name, value]): Step | Hindrance => {
    const pointer = at('users', name)
    const has = named(seen, name).roles
    if (!Array.isArray(has))
      return {
        pointer,
        code: 'user_not_found',
        message: `${name} is not known on this box; invite them here`,
      }
    if (has.some((role) => OWN_ROLES.has(role)))
      return {
        pointer,
        code: 'forbidden',
        message: `${name} may arm or administer this box, and is changed here alone`,
      }
    const path = `/v1/users/${String(ids.get(name))}`
    const question: OwnQuestion =
      value === null ? { method: 'DELETE', path } : { method: 'POST', path: `${path}/roles`, body: value }
    return { pointer, question }
  })
}

/** Those of an answer that a hub has made: what people of the box have made is theirs. */
export function invitationsOfHub(answer: Values): readonly Values[] {
  return listIn(answer, 'invitations').filter(({ created_by: by }) => isRecord(by) && by.kind === 'node')
}

export function withdrawal(id: unknown): OwnQuestion {
  return { method: 'DELETE', path: `/v1/users/invitations/${String(id)}` }
}

/** Those who are here already, or have been, are not invited again. */
function invitationSteps(desired: Values, _: Values, answer: Values, nowMs: number): readonly Step[] {
  const open = invitationsOfHub(answer)
  return Object.entries(desired).flatMap(([name, value]): readonly Step[] => {
    const pointer = at('invitations', name)
    if (!isRecord(value)) {
      return open
        .filter((one) => personKey(String(one.name)) === personKey(name))
        .map(({ id }) => ({ pointer, question: withdrawal(id), done: ['invitation_not_found'] }))
    }
    const { roles, expires_at, tokens } = value
    const [token_sha256] = isRecord(tokens) ? Object.values(tokens) : []
    if (token_sha256 === undefined || (msFromTimestamp(String(expires_at)) ?? 0) <= nowMs) return []
    const path = `/v1/users/invitations/hashes/${String(token_sha256)}` as const
    const question: OwnQuestion = { method: 'PUT', path, body: { name, roles, expires_at } }
    return [{ pointer, question, done: ['user_exists', 'invitation_ended'] }]
  })
}

/** A build is asked for in a moment, and is there after a night. */
function softwareRest({ build }: Values, { running, wanted }: Values): ReturnType<Required<Part>['rest']> {
  if (isRecord(running) && running.build === build) return undefined
  const { status, problem } = isRecord(wanted) && wanted.build === build ? wanted : {}
  const isPassing = status !== 'went_back' && status !== 'refused'
  const message = typeof problem === 'string' ? problem : `build ${String(build)} does not run yet`
  return { pointer: '/software/build', code: `software_${String(status)}`, message, isPassing }
}

/** What is to be, in the form in which it is seen: an order that nobody sees does not differ. */
export function comparable(part: PartName, desired: Values): Values {
  if (part === 'software') return { build: desired.build }
  // Nobody sees whether a person has come by it.
  if (part === 'invitations') return {}
  if (part === 'licenses')
    return Object.fromEntries(Object.entries(desired).map(([node, signed]) => [node, licensed(signed)]))
  if (part !== 'users') return desired
  return Object.fromEntries(
    Object.entries(desired).map(([name, value]) => {
      const { roles } = isRecord(value) ? value : {}
      return [name, Array.isArray(roles) ? { roles: roles.toSorted() } : value]
    }),
  )
}
