import { X509Certificate } from 'node:crypto'
import {
  type CertificateHolders,
  operatorCertificatesRef,
  type Principal,
  type TokenMint,
  tokenMintRef,
} from '@steeple/contracts'
import { assert, type FakeClock, suite, type Testbed } from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import { accessBed } from './access-bed.ts'
import type { Front, Person } from './people-front.ts'
import { newKey, requestDer, requestPem } from './request-text.ts'

/*
 * Each kind of credential that is derived from another one ends with it, whichever way that one ends. The table is made of
 * three lists: what a new kind, or another way to end one, needs is an entry here.
 */

const derived = suite('access/derived')
let bed: Testbed
let clock: FakeClock
let front: Front

derived.before(async () => {
  ;({ bed, clock, front } = await accessBed())
})
derived.after(() => bed.stop())

/** A credential that others are derived from. */
interface Source {
  readonly kind: 'session' | 'token' | 'certificate'
  readonly person: Person
  /** Its session, token or serial. */
  readonly id: string
  /** What a request carries; a certificate has none here. */
  readonly bearer: string
  readonly principal: Principal
  readonly cookie: string
}

let drawn = 0
async function done(
  method: string,
  path: string,
  body: object | undefined,
  token?: string,
): Promise<unknown> {
  const request = { ...(body === undefined ? {} : { body }), ...(token === undefined ? {} : { token }) }
  const answer = await bed.request(method, path, request)
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}
const given = async (path: string, body: object, token?: string): Promise<Given> =>
  // The edge checks every answer against its route's schema in a testbed.
  (await done('POST', path, body, token)) as Given
interface Given {
  readonly id: string
  readonly token: string
  readonly serial: string
  readonly certificate_pem: string
}

const status = async (token: string): Promise<number> =>
  (await bed.request('GET', '/v1/auth/me', { token })).status
const openLink = async (token: string): Promise<string> =>
  (await given('/v1/auth/links/open', { token }, '')).token

/** Makes a credential of each kind, for a person of its own. */
const SOURCES: Readonly<Record<Source['kind'], () => Promise<Source>>> = {
  session: async () => {
    const person = await front.add(`p${drawn++}`, ['admin'])
    const { token: bearer, cookie } = await front.enter(person)
    const { sid: id } = JSON.parse(Buffer.from(bearer.split('.')[1] ?? '', 'base64url').toString())
    const who = { kind: 'user' as const, id: person.id, name: person.name, roles: new Set<never>() }
    return { kind: 'session', person, id, bearer, cookie, principal: who }
  },
  token: async () => {
    const session = await SOURCES.session()
    const wish = { name: 'program', roles: ['admin'], expires_in: '6h' }
    const { id, token: bearer } = await given('/v1/tokens', wish, session.bearer)
    return { ...session, kind: 'token', id, bearer, cookie: '' }
  },
  certificate: async () => {
    const person = await front.add(`p${drawn++}`, ['admin'])
    const csr_pem = requestPem(requestDer(newKey(), undefined, 'root'))
    const path = `/v1/users/${person.id}/certificates`
    const { serial, certificate_pem } = await given(path, { csr_pem, expires_in: '6h' })
    const notAfterMs = Date.parse(new X509Certificate(certificate_pem).validTo)
    const presented = { serial, name: person.name, caSha256: bed.identity.caSha256, notAfterMs }
    // The testbed knows what this package provides.
    const holder = await (bed.service(operatorCertificatesRef) as CertificateHolders).holderOf(presented)
    assert.ok(holder)
    return { kind: 'certificate', person, id: serial, bearer: '', cookie: '', principal: holder }
  },
}

const HOURS_MS = 3_600_000
const ofAdmin = (path: string, body: object = {}): Promise<unknown> => done('POST', path, body)

/** Each way in which a credential of a kind ends. */
const WAYS: Readonly<Record<Source['kind'], Readonly<Record<string, (source: Source) => Promise<unknown>>>>> =
  {
    session: {
      'it is ended': ({ id }) => done('DELETE', `/v1/auth/sessions/${id}`, undefined),
      'its owner logs out': ({ cookie }) => front.logout(cookie),
      'its cookie comes twice': async ({ cookie }) => {
        await front.refresh(cookie)
        await front.refresh(cookie)
      },
      'its owner changes the password elsewhere': async ({ person }) => {
        await clock.advance(60_000)
        const { token } = await front.enter(person)
        const { password, recovery_codes } = person
        const body = { password, code: recovery_codes[0], new_password: 'another long password' }
        await done('POST', '/v1/auth/password', body, token)
      },
      'its owner is reset': ({ person }) => ofAdmin(`/v1/users/${person.id}/reset`),
      'its owner is removed': ({ person }) => done('DELETE', `/v1/users/${person.id}`, undefined),
      'nobody uses it': () => clock.advance(25 * HOURS_MS),
    },
    token: {
      'it is deleted': ({ id }) => done('DELETE', `/v1/tokens/${id}`, undefined),
      'its owner is removed': ({ person }) => done('DELETE', `/v1/users/${person.id}`, undefined),
      'it is over': () => clock.advance(6 * HOURS_MS),
    },
    certificate: {
      'it is revoked': ({ person, id }) =>
        done('DELETE', `/v1/users/${person.id}/certificates/${id}`, undefined),
      'its owner is reset': ({ person }) => ofAdmin(`/v1/users/${person.id}/reset`),
      'its owner is removed': ({ person }) => done('DELETE', `/v1/users/${person.id}`, undefined),
      'it is over': () => clock.advance(6 * HOURS_MS),
    },
  }

const mint = (): TokenMint => bed.service(tokenMintRef) as TokenMint
const link = async ({ bearer, principal }: Source): Promise<string> =>
  bearer === '' ? (await mint().link(principal)).token : (await given('/v1/auth/links', {}, bearer)).token
const token = async ({ bearer, principal }: Source): Promise<string> =>
  bearer === ''
    ? (await mint().mint(principal, 'derived', ['viewer'])).token
    : (await given('/v1/tokens', { name: 'derived', roles: ['admin'] }, bearer)).token

/** Derives a credential, and says how to ask what it opens: 200 or 401. `table`: where it is kept. */
interface Kind {
  readonly table: string
  /** What it is derived from; people give some things in their own name, which outlive a session. */
  readonly of: readonly Source['kind'][]
  derive(source: Source): Promise<() => Promise<number>>
}
const ALL = ['session', 'token', 'certificate'] as const
const KINDS: Readonly<Record<string, Kind>> = {
  'a link': {
    table: 'access_link',
    of: ALL,
    derive: async (source) => {
      const drawnLink = await link(source)
      return async () =>
        (await bed.request('POST', '/v1/auth/links/open', { token: false, body: { token: drawnLink } }))
          .status
    },
  },
  'what a link has opened': {
    table: 'access_session',
    of: ALL,
    derive: async (source) => {
      const opened = await openLink(await link(source))
      return () => status(opened)
    },
  },
  'what a link of that has opened': {
    table: 'access_session',
    of: ALL,
    derive: async (source) => {
      const opened = await openLink(await link(source))
      const again = await openLink((await given('/v1/auth/links', {}, opened)).token)
      return () => status(again)
    },
  },
  'a token': {
    table: 'access_token',
    of: ['token', 'certificate'],
    derive: async (source) => {
      const made = await token(source)
      return () => status(made)
    },
  },
  'a certificate': {
    table: 'access_certificate',
    of: ['token'],
    derive: async ({ bearer }) => {
      const other = await front.add(`q${drawn++}`, ['viewer'])
      const csr_pem = requestPem(requestDer(newKey(), undefined, 'root'))
      const made = await given(`/v1/users/${other.id}/certificates`, { csr_pem }, bearer)
      const notAfterMs = Date.parse(new X509Certificate(made.certificate_pem).validTo)
      const presented = { serial: made.serial, name: other.name, caSha256: bed.identity.caSha256, notAfterMs }
      const holders = bed.service(operatorCertificatesRef) as CertificateHolders
      return () =>
        holders.holderOf(presented).then(
          () => 200,
          () => 401,
        )
    },
  },
  'an invitation': {
    table: 'access_invitation',
    of: ['token'],
    derive: async ({ bearer }) => {
      const made = await given('/v1/users/invitations', { name: `i${drawn++}`, roles: ['admin'] }, bearer)
      const body = { token: made.token, password: 'a long enough password' }
      return async () => (await bed.request('POST', '/v1/auth/invitation', { token: false, body })).status
    },
  },
  'an answer that is kept': {
    table: '',
    of: ['session', 'token'],
    derive: async ({ bearer }) => {
      const request = { token: bearer, body: {}, headers: { 'idempotency-key': `k${drawn++}` } }
      await bed.request('POST', '/v1/auth/links', request)
      return async () => (await bed.request('POST', '/v1/auth/links', request)).status
    },
  },
}

/** Strangers' failures lock their address: each try comes a while after the last. */
const A_WHILE_MS = 16 * 60_000

for (const [kind, { of, derive }] of Object.entries(KINDS))
  for (const source of of)
    for (const [way, end] of Object.entries(WAYS[source]))
      derived(`${kind} of a ${source} is over when ${way}`, async () => {
        await clock.advance(A_WHILE_MS)
        const made = await SOURCES[source]()
        const opens = await derive(made)
        await end(made)
        assert.is(await opens(), 401)
      })

for (const [kind, { of, derive }] of Object.entries(KINDS))
  for (const source of of)
    derived(`${kind} of a ${source} opens until then`, async () => {
      await clock.advance(A_WHILE_MS)
      const opens = await derive(await SOURCES[source]())
      assert.ok([200, 201].includes(await opens()))
    })

derived('the table has every kind that is stored with what it ends with', () => {
  const stored = (plugin.tables ?? []).filter(({ columns }) => columns.includes('parent'))
  const named = new Set(Object.values(KINDS).map(({ table }) => table))
  assert.equal(
    stored.map(({ name }) => name).filter((name) => !named.has(name)),
    [],
  )
})

derived('other codes for an authenticator end links, and what they have opened', async () => {
  await clock.advance(A_WHILE_MS)
  const made = await SOURCES.session()
  const [open, opened] = [await link(made), await openLink(await link(made))]
  await ofAdmin(`/v1/users/${made.person.id}/totp`)
  assert.equal([await status(opened), await status(made.bearer)], [401, 200])
  const body = { token: open }
  assert.is((await bed.request('POST', '/v1/auth/links/open', { token: false, body })).status, 401)
})

derived('whoever changes a password in what a link has opened stays there, and nowhere else', async () => {
  await clock.advance(A_WHILE_MS)
  const made = await SOURCES.session()
  const opened = await openLink(await link(made))
  const { password, recovery_codes } = made.person
  const body = { password, code: recovery_codes[0], new_password: 'another long password' }
  await done('POST', '/v1/auth/password', body, opened)
  assert.equal([await status(opened), await status(made.bearer)], [200, 401])
})

derived(
  'invitations and bootstrap tokens of a person end with a reset, and tokens for programs do not',
  async () => {
    await clock.advance(A_WHILE_MS)
    const { person, bearer } = await SOURCES.session()
    const program = await given('/v1/tokens', { name: 'program', roles: ['admin'] }, bearer)
    const boot = await given('/v1/tokens', { name: 'box', kind: 'bootstrap' }, bearer)
    const invitation = await given('/v1/users/invitations', { name: `i${drawn++}`, roles: ['admin'] }, bearer)
    await ofAdmin(`/v1/users/${person.id}/reset`)
    assert.is(await status(program.token), 200)
    const { body } = await bed.request('GET', '/v1/tokens?limit=500')
    assert.not.ok(JSON.stringify(body).includes(boot.id))
    const open = await bed.request('GET', '/v1/users/invitations?limit=500')
    assert.not.ok(JSON.stringify(open.body).includes(invitation.id))
  },
)

derived('lists open links with what they end with, and withdraws them', async () => {
  const made = await SOURCES.session()
  const drawnLink = await given('/v1/auth/links', {}, made.bearer)
  type Links = { readonly links: readonly { readonly id: string; readonly parent: object }[] }
  const own = (await bed.request('GET', '/v1/auth/links', { token: made.bearer })).body as Links
  assert.equal(
    own.links.map(({ id, parent }) => [id, parent]),
    [[drawnLink.id, { kind: 'session', id: made.id }]],
  )
  const other = await SOURCES.token()
  await given(`/v1/users/${other.person.id}/roles?force=true`, { roles: ['viewer'] })
  const path = `/v1/auth/links/${drawnLink.id}`
  assert.is((await bed.request('DELETE', path, { token: other.bearer })).status, 404)
  assert.is((await bed.request('DELETE', path, { token: made.bearer })).status, 204)
  const body = { token: drawnLink.token }
  assert.is((await bed.request('POST', '/v1/auth/links/open', { token: false, body })).status, 401)
})

derived.run()
