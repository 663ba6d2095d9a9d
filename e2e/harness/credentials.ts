import { randomBytes } from 'node:crypto'
import { eventually } from '@steeple/testkit'
import type { TokenRole } from './contract-roles.ts'
import { addPerson, enter, post } from './people.ts'
import type { Service } from './service.ts'

/** A way to knock at a route, and what the contract says of it. */
export interface Credential {
  readonly name: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  /** Appended to the path. */
  readonly query?: string
  /** The role it gives; undefined: nobody. */
  readonly role?: TokenRole
  /** Code of the 401 when it gives none. */
  readonly code?: 'unauthenticated' | 'token_expired'
  /** A bootstrap token, and whether it is one that opens the enroll route. */
  readonly bootstrap?: 'good' | 'bad'
  /** Id of the principal in the audit trail. */
  readonly principal?: string
  /** The same of somebody else: nobody is refused more than 60 changes a minute for want of a role. */
  readonly twin?: Credential
}

/** A token as it was minted. */
export interface Minted {
  readonly id: string
  readonly token: string
}

const ROLES: readonly TokenRole[] = ['viewer', 'operator', 'sim:issuer', 'sim:admin', 'admin']

/** Makes a token with the admin token of the service. Throws when it is refused. */
export async function mint(service: Service, body: Readonly<Record<string, unknown>>): Promise<Minted> {
  const answer = await service.request('POST', '/v1/tokens', { body })
  if (answer.status !== 201) throw new Error(`POST /v1/tokens answered ${answer.status}`)
  return answer.body as Minted
}

/** Every kind of credential: none, malformed, unknown, ended, each role, the environment's, bootstrap tokens. */
export async function everyCredential(service: Service): Promise<readonly Credential[]> {
  return [
    ...malformed(service.adminToken),
    ...unknown(service.adminToken),
    ...(await ended(service)),
    ...(await bootstrap(service)),
    ...(await known(service)),
    ...(await sessions(service)),
  ]
}

function bearer(token: string): Credential['headers'] {
  return { authorization: `Bearer ${token}` }
}

function malformed(admin: string): readonly Credential[] {
  return [
    { name: 'no credential', headers: {} },
    { name: 'an empty header', headers: { authorization: '' } },
    { name: 'a scheme alone', headers: { authorization: 'Bearer' } },
    { name: 'an empty bearer', headers: { authorization: 'Bearer ' } },
    { name: 'garbage', headers: { authorization: '\u00ff\u00fe;;;===' } },
    { name: 'the token without its scheme', headers: { authorization: admin } },
    { name: 'the token under Basic', headers: { authorization: `Basic ${admin}` } },
    { name: 'a Basic pair', headers: { authorization: `Basic ${btoa(`admin:${admin}`)}` } },
    { name: 'the token under Token', headers: { authorization: `Token ${admin}` } },
    { name: 'no space', headers: { authorization: `Bearer${admin}` } },
    { name: 'a quoted token', headers: bearer(`"${admin}"`) },
    { name: 'two tokens', headers: bearer(`${admin} ${admin}`) },
    { name: 'two tokens in a list', headers: bearer(`${admin}, Bearer ${admin}`) },
    { name: 'an endless token', headers: bearer('a'.repeat(8_000)) },
    { name: 'the token in the query', headers: {}, query: `?access_token=${admin}&token=${admin}` },
    { name: 'the token in a cookie', headers: { cookie: `token=${admin}; authorization=Bearer ${admin}` } },
    {
      name: 'the token in other headers',
      headers: { 'x-api-key': admin, 'proxy-authorization': `Bearer ${admin}`, 'x-admin-token': admin },
    },
    {
      name: 'headers of a proxy',
      headers: { 'x-forwarded-user': 'admin', 'x-forwarded-for': '127.0.0.1', 'x-remote-user': 'admin' },
    },
  ]
}

function unknown(admin: string): readonly Credential[] {
  const forged = [{ alg: 'none' }, { sub: 'admin', roles: ['admin'], exp: 4_102_444_800 }]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const secret = randomBytes(32).toString('base64url')
  return [
    { name: 'an unknown word', headers: bearer('admin') },
    { name: 'an unknown token', headers: bearer(`svc_${secret}`) },
    { name: 'an unknown token of another length', headers: bearer(`svc_${secret}A`) },
    {
      name: 'an unknown bootstrap token',
      headers: bearer(`svcb_${'0'.repeat(32)}_${secret}`),
      bootstrap: 'bad',
    },
    { name: 'a JWT that nobody signed', headers: bearer(`${forged}.`) },
    { name: 'the admin token and a character', headers: bearer(`${admin}0`) },
    { name: 'the admin token less a character', headers: bearer(admin.slice(0, -1)) },
    { name: 'the admin token in capitals', headers: bearer(admin.toUpperCase()) },
    { name: 'the name of the variable', headers: bearer('SVC_ADMIN_TOKEN') },
  ]
}

async function ended(service: Service): Promise<readonly Credential[]> {
  const expired = await mint(service, { name: 'expired', roles: ['admin'], expires_in: '1ms' })
  const deleted = await mint(service, { name: 'deleted', roles: ['admin'] })
  // Used once, so that a cache has it.
  await service.request('GET', '/v1/tokens', { token: deleted.token })
  await service.request('DELETE', `/v1/tokens/${deleted.id}`)
  await eventually(
    async () => (await service.request('GET', '/v1/tokens', { token: expired.token })).status === 401,
  )
  return [
    { name: 'an expired token', headers: bearer(expired.token), code: 'token_expired' },
    { name: 'a deleted token', headers: bearer(deleted.token) },
  ]
}

async function bootstrap(service: Service): Promise<readonly Credential[]> {
  const fresh = await mint(service, { name: 'fresh', kind: 'bootstrap' })
  const expired = await mint(service, { name: 'late', kind: 'bootstrap', expires_in: '1ms' })
  return [
    { name: 'a fresh bootstrap token', headers: bearer(fresh.token), bootstrap: 'good' },
    { name: 'an expired bootstrap token', headers: bearer(expired.token), bootstrap: 'bad' },
  ]
}

/** JWT of people: of each role, and those that opened something a moment ago. */
async function sessions(service: Service): Promise<readonly Credential[]> {
  const found: Credential[] = []
  for (const role of ROLES) {
    const [one, other] = [await session(service, role, 'user'), await session(service, role, 'twin')]
    found.push({ ...one, twin: other })
  }
  return [...found, ...(await endedSessions(service))]
}

async function session(service: Service, role: TokenRole, who: string): Promise<Credential> {
  const person = await addPerson(service, `${who}.${role.replace(':', '.')}`, [role])
  const { token } = await enter(service, person)
  return { name: `a session with the role ${role}`, headers: bearer(token), role, principal: person.id }
}

async function endedSessions(service: Service): Promise<readonly Credential[]> {
  const left = await enter(service, await addPerson(service, 'left', ['admin']))
  await post(service, '/v1/auth/logout', left)
  const gone = await addPerson(service, 'gone', ['admin'])
  const { token } = await enter(service, gone)
  // Used once, so that a cache has it.
  await service.request('GET', '/v1/users', { token })
  await service.request('DELETE', `/v1/users/${gone.id}`)
  const [head = '', claims = '', signature = ''] = left.token.split('.')
  const other = `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`
  return [
    { name: 'a session that was logged out', headers: bearer(left.token) },
    { name: 'a session of a user who was removed', headers: bearer(token) },
    { name: 'a JWT with another signature', headers: bearer([head, claims, other].join('.')) },
    { name: 'a refresh token as a credential', headers: bearer(left.cookie.replace('svc_refresh=', '')) },
  ]
}

async function known(service: Service): Promise<readonly Credential[]> {
  const admin = service.adminToken
  const scopedOf = async (role: TokenRole, who: string): Promise<Credential> => {
    const { id, token } = await mint(service, { name: `${who} ${role}`, roles: [role] })
    return { name: `a token with the role ${role}`, headers: bearer(token), role, principal: id }
  }
  const scoped = ROLES.map(
    async (role): Promise<Credential> => ({
      ...(await scopedOf(role, 'role')),
      twin: await scopedOf(role, 'twin'),
    }),
  )
  return [
    ...(await Promise.all(scoped)),
    { name: 'the admin token', headers: bearer(admin), role: 'admin', principal: 'SVC_ADMIN_TOKEN' },
    {
      name: 'the admin token, scheme in lower case',
      headers: { authorization: `bearer ${admin}` },
      role: 'admin',
      principal: 'SVC_ADMIN_TOKEN',
    },
  ]
}
