import * as assert from 'uvu/assert'
import type { TestResponse } from './fake-drivers.ts'

/** The body of an answer that has that status. A test bed has held it to the schema of its route: `Body` is what the test makes of that. */
export function bodyOf<Body>(response: TestResponse, status = 200): Body {
  assert.is(response.status, status, JSON.stringify(response.body))
  return response.body as Body
}

/** The code of a refusal, empty of any other answer. With a `status`, the answer has that one. */
export function codeOf(response: TestResponse, status: number = response.status): string {
  return (
    bodyOf<{ readonly error?: { readonly code: string } } | undefined>(response, status)?.error?.code ?? ''
  )
}
