import { assert, suite } from '@steeple/testkit'
import { adminTokenFrom } from '../src/serve.ts'

const token = suite('cli/admin-token')

const GOOD = 'correct,horse;battery'
const refusal = (value: string): string => {
  try {
    adminTokenFrom({ SVC_OWN: value }, 'SVC_OWN')
  } catch (error) {
    assert.is((error as { readonly code?: string }).code, 'config_invalid')
    return (error as Error).message
  }
  throw new Error(`${value.length} characters were accepted`)
}

token('is whatever a header carries, from twenty characters on', () => {
  assert.is(adminTokenFrom({ SVC_OWN: GOOD }, 'SVC_OWN'), GOOD)
  assert.is(adminTokenFrom({ SVC_OWN: 'x'.repeat(20) }, 'SVC_OWN'), 'x'.repeat(20))
})

token('is nobody when the variable is absent or empty', () => {
  assert.is(adminTokenFrom({}, 'SVC_OWN'), undefined)
  assert.is(adminTokenFrom({ SVC_OWN: '' }, 'SVC_OWN'), undefined)
})

token('ends the start when it is weak, with what to do, and is not repeated', () => {
  for (const weak of ['x', ' ', 'hunter2-hunter2-hun']) {
    const message = refusal(weak)
    assert.match(message, /^SVC_OWN has fewer than 20 characters.*openssl rand -hex 24/)
    assert.not.match(message, weak.trim() === '' || weak.length === 1 ? /\bx\b/ : weak)
  }
  assert.match(refusal('spaces are not sent in here'), /SVC_OWN has spaces/)
  assert.match(refusal('schlüssel-schlüssel-schlüssel'), /characters that no HTTP header carries/)
})

token.run()
