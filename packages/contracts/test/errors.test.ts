import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ERROR_CATALOGUE } from '../src/error-catalogue.ts'
import { defineError, isServiceError } from '../src/errors.ts'

const errors = suite('contracts/errors')

/** Contract section 2, with the two codes that the specification names; those of one feature alone are in its manifest. */
const CONTRACT_CODES =
  `sim_not_found invalid_transition validation_failed malformed_json unsupported_media_type
  body_too_large invalid_cursor invalid_limit unauthenticated login_failed token_expired certificate_revoked forbidden
  not_found method_not_allowed node_not_found peer_not_found token_not_found user_not_found
  plugin_not_found sim_state_conflict sim_exists sim_swap_cooldown plmn_mismatch tx_gate_closed tx_not_armed
  policy_conflict node_state_conflict bootstrap_token_invalid idempotency_key_reused idempotency_in_progress peer_exists
  rate_limited capacity_exceeded feature_not_installed backup_invalid
  backup_version_unsupported southbound_unavailable store_unavailable not_ready internal`.split(/\s+/)

errors('has every code of the contract once', () => {
  const codes = ERROR_CATALOGUE.map(({ code }) => code)
  assert.is(new Set(codes).size, codes.length, 'a code is there twice')
  assert.equal(
    CONTRACT_CODES.filter((code) => !codes.includes(code)),
    [],
  )
})

errors('gives each code a status of the specification that fits', () => {
  for (const { code, status } of ERROR_CATALOGUE)
    assert.ok(status >= 400 && status < 600, `${code} has ${status}`)
  const statusOf = Object.fromEntries(ERROR_CATALOGUE.map(({ code, status }) => [code, status]))
  assert.is(statusOf.sim_not_found, 404)
  assert.is(statusOf.invalid_transition, 409)
  assert.is(statusOf.feature_not_installed, 404)
  assert.is(statusOf.rate_limited, 429)
  for (const code of ['southbound_unavailable', 'store_unavailable', 'not_ready'])
    assert.is(statusOf[code], 503)
})

errors('says in at most 25 words what is wrong, and what to do', () => {
  for (const make of ERROR_CATALOGUE) {
    const { message } = make('…', '…', '…')
    assert.ok(message.split(/\s+/).length <= 25, `${make.code} is too long: ${message}`)
    // What ends in a value leaves the remedy to it.
    assert.ok(message.includes(';') || message.endsWith('…'), `${make.code} has no remedy: ${message}`)
  }
})

errors('fills the values into the message in order and keeps the rest beside it', () => {
  const make = defineError('toy_broken', 409, 'toy %s lacks %s')
  const cause = new Error('glue')
  const error = make('bear', 2, { cause, retryAfterS: 7, details: [{ pointer: '/arm', message: 'is off' }] })
  assert.is(error.message, 'toy bear lacks 2')
  assert.equal([error.code, error.status, error.retryAfterS], ['toy_broken', 409, 7])
  assert.is(error.cause, cause)
  assert.equal(error.details, [{ pointer: '/arm', message: 'is off' }])
})

errors('does not take a value for a template', () => {
  const make = defineError('toy_broken', 409, '%s and %s')
  assert.is(make('%s', 'x').message, '%s and x')
})

errors('knows an error of another copy by its code', () => {
  const foreign = Object.assign(new Error('x'), { code: 'toy_broken', status: 409 })
  assert.ok(isServiceError(foreign))
  assert.not(isServiceError(Object.assign(new Error('x'), { code: 'ENOENT' })))
  assert.not(isServiceError('toy_broken'))
})

errors.run()
