import { assert, type FakeClock, type Testbed, type TestResponse } from '@steeple/testkit'
import { codeAt } from './people-helpers.ts'

/** A user with what was shown once. */
export interface Person {
  readonly id: string
  readonly name: string
  readonly roles: readonly string[]
  readonly password: string
  readonly totp_uri: string
  readonly recovery_codes: readonly string[]
  readonly recovery_codes_left: number
}

export interface Entered {
  readonly token: string
  readonly roles: readonly string[]
  readonly expires_at: string
  /** The whole `Set-Cookie`. */
  readonly cookie: string
}

/** What people do at the door of a testbed. */
export interface Front {
  add(name: string, roles: readonly string[]): Promise<Person>
  code(person: Pick<Person, 'totp_uri'>, atMs?: number): string
  login(body: {
    readonly username: string
    readonly password: string
    readonly code: string
  }): Promise<TestResponse>
  enter(person: Person): Promise<Entered>
  /** Takes a whole `Set-Cookie`. */
  refresh(setCookie: string, headers?: Readonly<Record<string, string>>): Promise<TestResponse>
  logout(setCookie: string): Promise<TestResponse>
}

/** Adds people to a testbed and logs them in. */
export function frontOf(bed: Testbed, clock: FakeClock): Front {
  const code: Front['code'] = ({ totp_uri }, atMs = clock.nowMs()) => codeAt(totp_uri, atMs)
  const login: Front['login'] = (body) => bed.request('POST', '/v1/auth/login', { token: false, body })
  const withCookie = (path: string, setCookie: string, more: Readonly<Record<string, string>> = {}) => {
    const [cookie = ''] = setCookie.split(';', 1)
    return bed.request('POST', path, { token: false, headers: { cookie, ...more } })
  }
  return {
    code,
    login,
    add: async (name, roles) => {
      const made = await bed.request('POST', '/v1/users', { body: { name, roles } })
      assert.is(made.status, 201, JSON.stringify(made.body))
      // The edge checks every answer against its route's schema in a testbed.
      return made.body as Person
    },
    enter: async (person) => {
      const { name: username, password } = person
      const answer = await login({ username, password, code: code(person) })
      assert.is(answer.status, 200, JSON.stringify(answer.body))
      return { ...(answer.body as Omit<Entered, 'cookie'>), cookie: answer.headers.get('set-cookie') ?? '' }
    },
    refresh: (setCookie, headers) => withCookie('/v1/auth/refresh', setCookie, headers),
    logout: (setCookie) => withCookie('/v1/auth/logout', setCookie),
  }
}
