import { assert, type TestResponse } from '@steeple/testkit'

/** A SIM record as a test reads it. */
export interface SimBody {
  readonly imsi_sha256_12: string
  readonly state: string
  readonly profile: string
  readonly apns: readonly string[]
  readonly ambr: { readonly uplink_bps: number; readonly downlink_bps: number }
  readonly expires_at: string
  readonly suspend_reason: string | null
  readonly batch_id: string
  readonly label: string | null
  readonly replaces: string | null
  readonly attached: boolean | null
  readonly detached?: string
  readonly provisioning: {
    readonly status: string
    readonly driver: string
    readonly last_error: string | null
    readonly waits_for: string | null
    readonly synced_at: string | null
  }
}

export interface IssueAnswer {
  readonly issued: number
  readonly output_dir: string
  readonly batch_id: string
  readonly first: { readonly imsi_sha256_12: string; readonly expires_at: string }
  readonly sims: readonly SimBody[]
}

/** The body of an answer with that status; the edge checks it against the schema of its route in a testbed. */
export function bodyOf<Body>(response: TestResponse, status = 200): Body {
  assert.is(response.status, status, JSON.stringify(response.body))
  return response.body as Body
}

/** The error code of an answer with that status. */
export function codeOf(response: TestResponse, status: number): string {
  return bodyOf<{ readonly error: { readonly code: string } }>(response, status).error.code
}
