import type { Result } from '@steeple/client'
import { PLAIN_TEXT_PATTERN } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { bandOf, technologyOf, typedProfile } from '../src/pages/radio/spectrum.ts'
import { type Answers, inBrowser, open, Refusal, show } from './support/page.ts'

const { h } = await import('preact')
const { useState } = await import('preact/hooks')
const { Button } = await import('../src/ui/button.tsx')
const { SignIn } = await import('../src/pages/signin/sign-in.tsx')
const { Field, useTyped } = await import('../src/ui/field.tsx')
const { misfitText } = await import('../src/ui/complaint.ts')
const { Form, isSomethingTyped } = await import('../src/ui/form.tsx')

/** What forms say of values that the service refuses: at the field, in the reader's words, and never in those of programs. */
const forms = suite('console/forms')
inBrowser(forms)

const REFUSED = {
  ...{ code: 'conflict', message: 'no', details: [], status: 409, requestId: undefined },
  retryAfterS: undefined,
}
const DONE = {
  ...{ ok: true, data: undefined, status: 200, etag: undefined, requestId: undefined, isReplayed: false },
  headers: new Headers(),
} as const

const LICENSE = { acknowledged: true, reference: 'L-1', holder: null, expires_at: null }
const POLICY = {
  ...{ revision: 3, updated_at: '2026-01-01T12:00:00Z', apns: ['internet'], sim_swap_cooldown_hours: 24 },
  ...{ retention_days: { sessions: 30, audit: 400, metrics: 90 }, rate_limits: {} },
  spectrum: { allow_list: [], license: LICENSE },
}
const BAND = { technology: 'lte', band: 'b7', low_mhz: 2620, high_mhz: 2690 }
const RANGES = { country: 'DE', ranges: [], bands: [BAND, { ...BAND, technology: 'nr', band: 'n78' }] }
const RULES: Answers = {
  'GET /v1/policy': POLICY,
  'GET /v1/status': { country: 'DE' },
  'GET /v1/spectrum/ranges': RANGES,
  'GET /v1/policy/license/documents': { documents: [] },
}

function refused(pointer: string, rule: string, limit?: number | string): Refusal {
  const detail = { pointer, message: 'must be <= 100', rule, ...(limit === undefined ? {} : { limit }) }
  return new Refusal(400, 'validation_failed', `body ${pointer}: must be <= 100`, [detail])
}

forms('says nothing any more of what a button has replaced', async () => {
  const Filled = () => {
    const [value, setValue] = useState('short')
    const act = async () => undefined
    return h(
      Form,
      { act, submit: 'Send' },
      h(Field, { label: 'Passphrase', value, onInput: setValue, minLength: 12 }),
      h('button', { type: 'button', onClick: () => setValue('drawn and long enough') }, 'Generate'),
    )
  }
  const page = await show(() => h(Filled, {}))
  const line = page.field('Passphrase')
  // What a browser finds wrong with what was typed; this one looks at the attribute alone.
  Object.defineProperty(line, 'validity', { value: { valid: false, tooShort: true }, configurable: true })
  line.dispatchEvent(new (Reflect.get(window, 'Event') as typeof Event)('invalid', { cancelable: true }))
  await page.settled()
  assert.is(page.complaint('Passphrase'), 'At least 12 characters.')
  await page.press('Generate')
  assert.is(page.complaint('Passphrase'), '')
})

forms('keeps what is typed into two fields before the page is drawn again', async () => {
  const Filled = () => {
    const { typed, of } = useTyped({ first: '', second: '' })
    return h('p', {}, [
      ...(['first', 'second'] as const).map((name) => h(Field, { key: name, label: name, ...of(name) })),
      `${typed.first} and ${typed.second}`,
    ])
  }
  const page = await show(() => h(Filled, {}))
  for (const name of ['first', 'second']) {
    const line = page.field(name)
    line.value = `the ${name}`
    line.dispatchEvent(new (Reflect.get(window, 'Event') as typeof Event)('input', { bubbles: true }))
  }
  await page.settled()
  assert.match(page.text(), 'the first and the second')
})

forms('says of several values which characters of one are refused, and cuts none off', async () => {
  const page = await open('/rules', {
    ...RULES,
    'PUT /v1/policy': refused('/apns/1', 'pattern', '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$'),
  })
  await page.put('APN names', 'internet, dorf_netz')
  await page.press('Save rules')
  assert.is(page.complaint('APN names'), 'Not allowed here: “_”')
  assert.match(page.text(), 'APN names: Not allowed here: “_”')
  const Filled = () => {
    const [value, setValue] = useState('')
    return h(Field, { label: 'Label', value, onInput: setValue, maxLength: 64 })
  }
  const form = await show(() => h(Filled, {}))
  const line = form.field('Label')
  await form.put('Label', 'x'.repeat(65))
  assert.equal([line.value.length, line.validity.customError], [65, true])
  assert.is(line.validationMessage, 'At most 64 characters.')
  await form.put('Label', 'x'.repeat(64))
  assert.is(line.validity.customError, false)
})

forms('finds what a pattern refuses', async () => {
  const told = ['^[0-9a-f]{12}$', '\\+?[0-9 ]{3,20}', PLAIN_TEXT_PATTERN].map((pattern) =>
    ['zzz', 'abc', '+49 1', 'a\nb'].map((value) => misfitText(pattern, value)),
  )
  const order = 'This does not have the form that is needed here.'
  assert.equal(told, [
    [
      'Not allowed here: “z”',
      order,
      'Not allowed here: “+” space',
      'Not allowed here: line break or control character',
    ],
    [
      'Not allowed here: “z”',
      'Not allowed here: “a” “b” “c”',
      order,
      'Not allowed here: “a” line break or control character “b”',
    ],
    [order, order, order, 'Not allowed here: line break or control character'],
  ])
})

forms('takes a band as people write it, and offers those there are', async () => {
  for (const [technology, typed, band] of [
    ...[['lte', '7', 'b7'] as const, ['lte', ' B7 ', 'b7'] as const, ['lte', 'b07', 'b7'] as const],
    ...[['nr', '78', 'n78'] as const, ['nr', 'N78', 'n78'] as const, ['lte', 'seven', 'seven'] as const],
  ])
    assert.is(bandOf(technology, typed), band)
  assert.equal(['n78', 'B3', '7'].map(technologyOf), ['nr', 'lte', undefined])
  const page = await open('/rules', { ...RULES, 'PUT /v1/policy': POLICY })
  await page.press('Add entry')
  assert.equal(
    [...document.querySelectorAll(`#${page.field('Band').getAttribute('list')} option`)].map(
      (one) => (one as HTMLOptionElement).value,
    ),
    ['b7'],
  )
  await page.put('Band', 'n78')
  assert.is(page.field('Technology').value, 'nr')
  await page.press('Save rules')
  assert.equal(page.changes(), [
    ['PUT /v1/policy', { spectrum: { allow_list: [{ technology: 'nr', band: 'n78', country: 'DE' }] } }],
  ])
})

forms('says at the field of an entry what the service refuses of it', async () => {
  const answer = refused('/spectrum/allow_list/0/max_eirp_dbm', 'maximum', 90)
  const page = await open('/rules', { ...RULES, 'PUT /v1/policy': answer })
  await page.press('Add entry')
  await page.put('Band', '7')
  await page.put('Max EIRP, dBm', '500')
  await page.press('Save rules')
  assert.is(page.complaint('Max EIRP, dBm'), 'At most 90.')
  assert.is(page.complaint('Band'), '')
  assert.match(page.text(), 'Max EIRP, dBm: At most 90.')
  assert.not.match(page.text(), /allow_list|validation_failed|<=/)
})

forms('says that the end of a licence has passed', async () => {
  const page = await open('/rules', RULES)
  await page.put('Expires', '2024-12-31T23:59')
  assert.match(page.complaint('Expires'), 'This date is past')
  await page.put('Expires', '2090-12-31T23:59')
  assert.is(page.complaint('Expires'), '')
})

forms('says at the field of a person what is wrong with the name', async () => {
  const users = { 'GET /v1/users': { users: [], next_cursor: null } }
  const page = await open('/people', {
    ...users,
    'POST /v1/users/invitations': refused('/name', 'pattern', '^[A-Za-z0-9]([A-Za-z0-9._@-]*[A-Za-z0-9])?$'),
  })
  await page.press('Invite a person')
  await page.put('Name', 'Anna Müller')
  await page.press('Create link')
  assert.is(page.complaint('Name'), 'Not allowed here: space “ü”')
  assert.match(page.text(), 'no spaces and no umlauts')
  assert.not.match(page.text(), 'body /name')
  await page.put('Name', 'anna.mueller')
  assert.is(page.complaint('Name'), '')
})

forms('opens a radio profile in MHz as it was entered, in channels where those were', () => {
  const profile = {
    ...{ id: 'mast', technology: 'lte', band: 'b7', channel: 3300, bandwidth_mhz: 10, eirp_dbm: null },
    ...{ tx_gain_db: null, rx_gain_db: null, uplink: null, armed: false, source: 'store' },
    ...{ downlink: { low_mhz: 2670, high_mhz: 2680 }, closed: [], problems: [], fallback: null },
  } as const
  const { by, frequency_mhz: mhz, channel } = typedProfile(profile)
  assert.equal([by, mhz, channel], ['mhz', '2675', '3300'])
  assert.is(typedProfile({ ...profile, downlink: null }).by, 'channel')
  localStorage.setItem('console.radio.unit', 'channel')
  assert.is(typedProfile(profile).by, 'channel')
  localStorage.removeItem('console.radio.unit')
})

forms('offers roles that belong together, and says what they allow', async () => {
  const page = await open('/people', {
    'GET /v1/users': { users: [], next_cursor: null },
    'POST /v1/users/invitations': { token: 'svci_x', expires_at: '2026-12-01T12:00:00Z' },
  })
  await page.press('Invite a person')
  await page.put('For', 'helper')
  assert.match(page.text(), /Suspend SIMs, set quotas, top up\s+yes[\s\S]*Arm the transmitter\s+no/)
  await page.put('Name', 'bo')
  await page.press('Create link')
  assert.equal(page.changes(), [
    ['POST /v1/users/invitations', { name: 'bo', roles: ['operator', 'sim:issuer'], expires_in: '72h' }],
  ])
})

forms('leads to no other page by a key while something is typed that was not sent', async () => {
  let sent = 0
  const Thing = () => {
    const [text, setText] = useState('')
    return h(
      Form<undefined>,
      {
        submit: 'Send',
        act: async () => {
          sent += 1
          return (sent === 1 ? { ok: false, error: REFUSED } : DONE) as Result<undefined>
        },
      },
      h(Field, { label: 'Text', value: text, onInput: setText }),
    )
  }
  const page = await show(() => h(Thing, {}))
  assert.not.ok(isSomethingTyped())
  await page.put('Text', 'Kurt')
  assert.ok(isSomethingTyped())
  await page.press('Send')
  assert.ok(isSomethingTyped(), 'it was refused')
  await page.press('Send')
  assert.not.ok(isSomethingTyped())
  await page.put('Text', 'Kurt again')
  await show(() => h('p', {}, 'another page'))
  assert.not.ok(isSomethingTyped(), 'the form has gone')
})

forms('warns of many SIMs before they are issued, and offers no more than there can be', async () => {
  const page = await open('/sims?do=issue', { 'GET /v1/policy': POLICY })
  await page.put('Number of SIMs', '500')
  assert.match(page.text(), 'That is many: 500 SIMs.')
  await page.put('Number of SIMs', '500000')
  assert.is(page.complaint('Number of SIMs'), 'At most 1,000.')
  assert.not.ok(page.buttons().some((name) => name.includes('500')))
})

forms('leaves the focus where it was, and where something is to be typed', async () => {
  const Thing = () => {
    const [isOver, setOver] = useState(false)
    return h(
      'div',
      {},
      h(Button, { isDisabled: isOver, onClick: () => setOver(true) }, 'Save'),
      isOver ? null : h(Button, { onClick: () => setOver(true) }, 'Discard'),
    )
  }
  const saved = await show(() => h(Thing, {}), {})
  await saved.press('Save')
  assert.equal([saved.focus(), saved.isDisabled('Save')], ['Save', true])
  const dropped = await show(() => h(Thing, {}), {})
  await dropped.press('Discard')
  assert.is(document.activeElement, document.querySelector('main'))
  const signIn = await show(() => h(SignIn, {}), {})
  assert.is(document.activeElement, signIn.field('Name'))
  await signIn.press('New box? Enter its token')
  assert.is(document.activeElement, signIn.field('Token'))
})

forms('says that a sign-in is on its way', async () => {
  const said: string[] = []
  const page = await show(() => h(SignIn, {}), {
    'POST /v1/auth/login': async () => {
      await new Promise(setImmediate)
      said.push(page.text())
      return new Refusal(401, 'login_failed')
    },
  })
  for (const label of ['Name', 'Password', 'Code']) await page.put(label, 'ada123')
  await page.press('Sign in')
  assert.match(said.join(), 'Your sign-in is being checked.')
  assert.match(page.text(), 'Name, password or code is wrong')
  assert.not.match(page.text(), 'is being checked')
})

forms.run()
