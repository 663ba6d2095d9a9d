import { createHmac } from 'node:crypto'
import type { TokenRole } from './contract-roles.ts'
import type { Service } from './service.ts'

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
  service: Service,
  name: string,
  roles: readonly TokenRole[],
): Promise<Person> {
  const { status, body } = await service.request('POST', '/v1/users', { body: { name, roles } })
  if (status !== 201) throw new Error(`POST /v1/users answered ${status}`)
  return body as Person
}

/** Logs a user in. Throws when it is refused. */
export async function enter(service: Service, person: Person): Promise<Entered> {
  const response = await fetch(`${service.url}/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      username: person.name,
      password: person.password,
      code: totpAt(person.totp_uri, Date.now()),
    }),
  })
  if (response.status !== 200) throw new Error(`POST /v1/auth/login answered ${response.status}`)
  const { token } = (await response.json()) as { readonly token: string }
  const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';', 1)
  return { token, cookie }
}

/** The code of an `otpauth://totp/` URI at a time. Written from RFC 6238 §4 and RFC 4226 §5.3, beside any library. */
export function totpAt(uri: string, atMs: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(atMs / 30_000)))
  const secret = base32(new URL(uri).searchParams.get('secret') ?? '')
  const mac = createHmac('sha1', secret).update(counter).digest()
  const offset = mac.readUInt8(19) & 15
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

/** RFC 4648 §6. */
function base32(text: string): Buffer {
  const bits = [...text]
    .map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'))
    .join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((octet) => Number.parseInt(octet, 2)))
}
