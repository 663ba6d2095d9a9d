import {
  type ErrorDetail,
  isRecord,
  type JsonSchema,
  objectSchema,
  recordSchema,
  TIMESTAMP_SCHEMA,
} from '@steeple/contracts'
import { BUILD_ID, STAGING, TERMS } from './software/terms.ts'

/** What a hub can set of a box, in the order in which it is applied. */
export const PARTS = [
  'policy',
  'plugins',
  'alert_rules',
  'licenses',
  'radio_profiles',
  'users',
  'invitations',
  'software',
] as const
export type PartName = (typeof PARTS)[number]

export type Values = Readonly<Record<string, unknown>>
/** What a group, or a box, is to have. A part that is not there is not set. */
export type State = { readonly [part in PartName]?: Values }

/** A value that is to be, and what is there. `pointer`: RFC 6901, from the state. */
export interface Difference {
  readonly pointer: string
  readonly desired: unknown
  /** Undefined: nothing. */
  readonly actual: unknown
}

/** Capitals make no other person. */
export function personKey(name: string): string {
  return name.toLowerCase()
}

/** Whoever may arm, or give that right, is the box's own. */
export const GIVEN_ROLES: JsonSchema = {
  type: 'array',
  minItems: 1,
  uniqueItems: true,
  items: { type: 'string', enum: ['viewer', 'operator', 'sim:issuer'] },
}

const NAMED = { type: 'object', maxProperties: 500 } as const

/** Parts of one or several boxes. Their values are held to the schemas of the routes that take them. */
export const STATE_SCHEMA: JsonSchema = objectSchema({
  policy: {
    type: 'object',
    maxProperties: 100,
    description:
      'As the body of PUT /v1/policy, without spectrum: allow-list and licence are set on the box alone.',
  },
  plugins: {
    ...NAMED,
    additionalProperties: objectSchema({
      enabled: { type: 'boolean' },
      version: { type: 'string', minLength: 1, maxLength: 100 },
    }),
    description: 'By name: whether it is loaded at each start, and which installed version.',
  },
  alert_rules: objectSchema(
    {
      rules: { type: 'array', maxItems: 500, items: { type: 'object' } },
      disabled_rules: { type: 'array', maxItems: 100, items: { type: 'string', maxLength: 64 } },
    },
    [],
    { description: 'The keys of the same name of the configuration of alerts, each as a whole.' },
  ),
  licenses: {
    ...NAMED,
    additionalProperties: { type: 'object' },
    description:
      'By node id: the body of POST /v1/policy/license/signed. A box takes its own, of one whose key its operator trusts.',
  },
  radio_profiles: {
    ...NAMED,
    additionalProperties: { type: ['object', 'null'] },
    description: 'By name: the body of PUT /v1/tx/profiles/{id}; null removes it. None is armed by that.',
  },
  users: {
    ...NAMED,
    additionalProperties: {
      ...recordSchema({ roles: GIVEN_ROLES }),
      type: ['object', 'null'],
    },
    description:
      'By name, of people who are known on the box: their roles; null removes them. The roles that arm are given on the box.',
  },
  invitations: {
    ...NAMED,
    additionalProperties: {
      ...recordSchema({
        roles: GIVEN_ROLES,
        expires_at: TIMESTAMP_SCHEMA,
        tokens: {
          type: 'object',
          maxProperties: 2_000,
          additionalProperties: { type: 'string', pattern: '^[0-9a-f]{64}$' },
          description:
            'By node id: the SHA-256 of the token, which the hub has shown once. A box gets its own.',
        },
      }),
      type: ['object', 'null'],
    },
    description:
      'By name, of people who are new on the box; null withdraws. POST /v1/groups/{name}/invitations makes them.',
  },
  software: objectSchema({ build: BUILD_ID, ...TERMS, ...STAGING }, ['build'], {
    description:
      'A signed build of the hub, as GET /v1/software lists it, and how it is let out and fetched.',
  }),
})

/** What no hub sets, whatever the box permits; empty when there is none of it. */
export function unsteerable(state: State): readonly ErrorDetail[] {
  const details: ErrorDetail[] = []
  if (Object.hasOwn(state.policy ?? {}, 'spectrum'))
    details.push({
      pointer: '/policy/spectrum',
      message: 'allow-list and licence are set on the box, by who answers for what it transmits',
    })
  for (const name of ['mesh', 'groups'].filter((one) => Object.hasOwn(state.plugins ?? {}, one)))
    details.push({ pointer: pointerTo('/plugins', name), message: 'is what the hub reaches the box by' })
  return details
}

/** The target after a merge patch. RFC 7396 §2, but for `null`, which stays: it says what is to be removed on the box. */
export function merged(target: Values, patch: Values): Values {
  const members = new Map(Object.entries(target))
  for (const [key, value] of Object.entries(patch)) {
    const before = members.get(key)
    members.set(key, isRecord(value) && isRecord(before) ? merged(before, value) : value)
  }
  return Object.fromEntries(members)
}

/** The values of `desired` that `actual` has otherwise. Lists count as one value. */
export function differences(desired: unknown, actual: unknown, pointer = ''): readonly Difference[] {
  if (isRecord(desired) && isRecord(actual))
    return Object.entries(desired).flatMap(([key, value]) =>
      differences(value, actual[key], pointerTo(pointer, key)),
    )
  return canonical(desired ?? null) === canonical(actual ?? null) ? [] : [{ pointer, desired, actual }]
}

export function pointerTo(parent: string, key: string): string {
  return `${parent}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/** JSON with the members of each object in one order. */
export function canonical(value: unknown): string {
  const sorted = (_: string, member: unknown): unknown =>
    isRecord(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member
  return JSON.stringify(value, sorted)
}
