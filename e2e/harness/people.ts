import { createHmac } from 'node:crypto'
import type { Testbed } from '@steeple/testkit'
import type { TokenRole } from './contract-roles.ts'
import type { Service } from './service.ts'

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** The code that an authenticator app shows for that URI at that time. RFC 6238 §4, RFC 4226 §5.3. */
export function totpAt(uri: string, atMs: number): string {
  const text = new URL(uri).searchParams.get('secret') ?? ''
  const bits = [...text].map((letter) => BASE32.indexOf(letter).toString(2).padStart(5, '0')).join('')
  const secret = Buffer.from((bits.match(/.{8}/g) ?? []).map((octet) => Number.parseInt(octet, 2)))
  const step = Buffer.alloc(8)
  step.writeBigUInt64BE(BigInt(Math.floor(atMs / 30_000)))
  const digest = createHmac('sha1', secret).update(step).digest()
  const offset = (digest.at(-1) ?? 0) & 0x0f
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

/** A user with the credentials that were shown once. */
export interface Person {
  readonly id: string
  readonly name: string
  readonly password: string
  readonly totp_uri: string
  readonly recovery_codes: readonly string[]
}

/** A session as a login opened it. */
export interface Entered {
  /** The JWT. */
  readonly token: string
  /** `name=value` of the refresh cookie. */
  readonly cookie: string
}

/** Adds a user with the admin token of the service. Throws when it is refused. */
export async function addPerson(
  service: Pick<Service, 'request'> | Testbed,
  name: string,
  roles: readonly TokenRole[],
): Promise<Person> {
  const { status, body } = await service.request('POST', '/v1/users', { body: { name, roles } })
  if (status !== 201) throw new Error(`POST /v1/users answered ${status}`)
  return body as Person
}

/** Logs a user in, by the code of now or by another one. Throws when it is refused. */
export async function enter(
  service: Pick<Service, 'url'>,
  person: Person,
  code: string = totpAt(person.totp_uri, Date.now()),
): Promise<Entered> {
  const { name: username, password } = person
  const response = await post(service, '/v1/auth/login', { body: { username, password, code } })
  return enteredBy(response)
}

/** Exchanges the refresh cookie. Throws when it is refused. */
export async function goOn(
  service: Pick<Service, 'url'>,
  { cookie }: Pick<Entered, 'cookie'>,
): Promise<Entered> {
  return enteredBy(await post(service, '/v1/auth/refresh', { cookie }))
}

/** Sends what needs no bearer credential, and gives the answer. */
export function post(
  { url }: Pick<Service, 'url'>,
  path: string,
  { body, cookie }: { readonly body?: object; readonly cookie?: string },
): Promise<Response> {
  return fetch(url + path, {
    method: 'POST',
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(cookie === undefined ? {} : { cookie }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

async function enteredBy(response: Response): Promise<Entered> {
  if (response.status !== 200)
    throw new Error(`${new URL(response.url).pathname} answered ${response.status}`)
  const { token } = (await response.json()) as { readonly token: string }
  const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';', 1)
  return { token, cookie }
}
