import { assert, suite } from '@steeple/testkit'
import { type Answers, h, inBrowser, open, Refusal, show } from './support/page.ts'

const { leave } = await import('../src/api/session.ts')
const { OnlyHere } = await import('../src/ui/qr-code.tsx')
const { Accept } = await import('../src/pages/signin/accept.tsx')

/** Accounts, invitations, tokens and sessions, as an admin has them before them. */
const people = suite('console/people')
inBrowser(people)

const user = (id: string, name: string, more: object = {}) => ({
  ...{ id, name, roles: ['viewer'], recovery_codes_left: 8 },
  ...{ created_at: '2026-01-01T12:00:00Z', last_login_at: null, ...more },
})
const token = (id: string, name: string, more: object = {}) => ({
  ...{ id, name, kind: 'api', roles: ['viewer'], expires_at: null, last_used_at: null },
  ...{ created_by: { name: 'ada' }, ...more },
})
const list = (name: string, rows: readonly object[], next_cursor: string | null = null) => ({
  ...{ [name]: rows, next_cursor },
})

const PERSON: Answers = {
  'GET /v1/users': list('users', [user('1', 'ada'), user('2', 'bo', { roles: ['operator', 'viewer'] })]),
  'GET /v1/auth/sessions': list('sessions', []),
  'GET /v1/users/2/passkeys': { passkeys: [] },
  'GET /v1/users/2/certificates': { certificates: [] },
}
const DRAWN = { password: 'seven words', totp_uri: 'otpauth://totp/bo', recovery_codes: ['one', 'two'] }

people('says of each account what it may, when it was here last, and that codes run out', async () => {
  const few = user('2', 'bo', { roles: ['operator', 'sim:admin'], recovery_codes_left: 2 })
  const enough = user('3', 'cy', { recovery_codes_left: 3 })
  const all = [user('1', 'ada', { roles: [] }), few, enough]
  const page = await open('/people', { 'GET /v1/users': list('users', all) })
  assert.equal(
    page.rows().map((row) => row.slice(0, 4)),
    [
      ['ada', 'none', 'never', '8'],
      ['bo', 'operator, SIM administrator', 'never', '2 left'],
      ['cy', 'viewer', 'never', '3'],
    ],
  )
})

people('invites with what was chosen, and shows the link once: Escape does not take it away', async () => {
  const page = await open('/people', {
    'GET /v1/users': list('users', []),
    'POST /v1/users/invitations': { name: 'bo', token: 'svci_x', expires_at: '2026-12-01T12:00:00Z' },
  })
  assert.match(page.text(), 'No accounts yet')
  await page.press('Invite a person')
  assert.equal(page.ticks(), [], 'what was chosen at once is not asked a second time')
  await page.put('For', '')
  await page.tick('viewer')
  assert.ok(page.isDisabled('Create link'), 'nobody is invited to nothing')
  // Ticked in another order than they are sent in.
  for (const role of ['administrator', 'operator']) await page.tick(role)
  await page.put('Name', 'bo')
  await page.put('The link is valid for', '7d')
  await page.press('Create link')
  assert.equal(page.changes(), [
    ['POST /v1/users/invitations', { name: 'bo', roles: ['operator', 'admin'], expires_in: '7d' }],
  ])
  assert.is(page.dialog(), 'Invitation for bo')
  assert.match(page.text(), 'http://box.example/v1/auth/invitation#svci_x')
  await page.escape()
  assert.is(page.dialog(), 'Invitation for bo')
  await page.press('I have saved it')
  assert.is(page.dialog(), undefined)
  assert.not.match(page.text(), 'svci_x')
})

people('says who is invited and has not come yet where accounts are looked for', async () => {
  const users = { 'GET /v1/users': list('users', []) }
  const open_ = list('invitations', [invitation('1', 'bo'), invitation('2', 'cy')])
  const page = await open('/people', { ...users, 'GET /v1/users/invitations': open_ })
  assert.match(page.text(), 'Invited, not here yet: bo, cy.')
  const none = await open('/people', { ...users, 'GET /v1/users/invitations': list('invitations', []) })
  assert.not.match(none.text(), 'Invited, not here yet')
})

people('says where a link for a phone leads to this computer alone', async () => {
  const links = [
    ...['http://127.0.0.1:8080/v1#x', 'http://localhost/v1', 'http://[::1]:8080/v1'],
    ...['LPA:1$127.0.0.1:8080$ABC', 'LPA:1$localhost$ABC'],
  ]
  for (const text of links)
    assert.is((await show(() => h(OnlyHere, { text, children: 'here' }))).text(), 'here', text)
  for (const text of [
    'http://box.example/v1#x',
    'http://192.0.2.1/127.0.0.x',
    'LPA:1$localhost.example$A',
    '',
  ])
    assert.is((await show(() => h(OnlyHere, { text, children: 'here' }))).text(), '', text)
})

people('keeps what was filled in when the service refuses it, and says why', async () => {
  const taken = [{ pointer: '/name', message: '/name is in use' }]
  const page = await open('/people', {
    'GET /v1/users': list('users', []),
    'POST /v1/users': new Refusal(409, 'conflict', 'a person with this name exists', taken),
  })
  await page.press('Add a person')
  await page.put('Name', 'ada')
  await page.press('Add a person')
  assert.match(page.text(), 'a person with this name exists')
  assert.match(page.text(), /^\/name is in use$/m)
  assert.is(page.field('Name').value, 'ada')
  page.answer({ 'POST /v1/users': { name: 'ada2', roles: ['viewer'], ...DRAWN } })
  await page.put('Name', 'ada2')
  await page.press('Add a person')
  assert.is(page.dialog(), 'New credentials of ada2')
  for (const said of ['seven words', 'otpauth://totp/bo', 'one', 'two', 'viewer'])
    assert.ok(page.text().split('\n').includes(said), said)
})

people(
  'tries the app of who was invited before they leave, and says afterwards that the link is used up',
  async () => {
    const logins: unknown[] = []
    const answers: Answers = {
      'POST /v1/auth/invitation': { name: 'bo', roles: ['viewer'], ...DRAWN },
      'POST /v1/auth/links/close': {},
      'POST /v1/auth/login': ({ body }) => {
        logins.push(body)
        return logins.length === 1
          ? new Refusal(401, 'login_failed', 'wrong')
          : { token: 'jwt', expires_at: null }
      },
      'GET /v1/auth/me': { kind: 'user', name: 'test', roles: ['viewer'] },
    }
    history.replaceState(null, '', '/invitation#svci_x')
    const page = await show(() => h(Accept, {}), answers)
    await leave()
    for (const label of ['New password', 'Repeat new password']) await page.put(label, 'seven long words')
    await page.press('Accept')
    assert.is(page.dialog(), 'New credentials of bo')
    assert.ok(page.buttons().includes('Open in the authenticator app on this device'))
    assert.not(page.buttons().includes('I have saved it'), 'nobody leaves untried')
    const again = await show(() => h(Accept, {}), answers)
    assert.match(again.text(), 'This invitation is used up: the account bo is there.')
    // As pasted over the address: the document stays.
    history.replaceState(null, '', '/invitation#svci_y')
    window.dispatchEvent(new (Reflect.get(window, 'Event') as typeof Event)('hashchange'))
    await leave()
    await again.settled()
    for (const label of ['New password', 'Repeat new password']) await again.put(label, 'seven long words')
    await again.press('Accept')
    await again.put('Code of the app', '000 000')
    await again.press('Sign in')
    assert.is(again.dialog(), 'New credentials of bo')
    assert.match(again.text(), 'Open in the authenticator app')
    await again.put('Code of the app', '123 456')
    await again.press('Sign in')
    assert.equal(logins.at(-1), { username: 'bo', password: 'seven long words', code: '123456' })
    assert.is(again.address(), '/')
    const none = await show(() => h(Accept, {}), answers)
    assert.match(none.text(), 'This link is not complete')
  },
)

people('says of roles what they may do, and no more', async () => {
  const page = await open('/people', { 'GET /v1/users': list('users', []) })
  await page.press('Invite a person')
  const may = (deed: string): string =>
    new RegExp(`${deed}\\n(yes|no)`).exec(page.text())?.[1] ?? `${deed} is not said`
  assert.equal(['See SIMs, network and alerts', 'See the audit trail', 'Stop transmitting'].map(may), [
    'yes',
    'no',
    'no',
  ])
  await page.put('For', 'helper')
  assert.match(page.text(), 'changes the rules of the network')
  assert.equal(['Change the rules of the network', 'See the audit trail', 'Arm the transmitter'].map(may), [
    ...['yes', 'yes', 'no'],
  ])
  // Contract §1: who stops the transmitter is an operator.
  await page.put('For', 'viewer')
  await page.put('For', '')
  await page.tick('SIM administrator')
  assert.equal(['Arm the transmitter', 'Stop transmitting'].map(may), ['yes', 'no'])
})

people('offers nobody a role that they do not have', async () => {
  const roles = ['viewer', 'sim:issuer', 'admin']
  const page = await open('/people', { 'GET /v1/users': list('users', []) }, { roles })
  await page.press('Invite a person')
  await page.put('For', '')
  assert.equal(page.ticks(), [
    ['viewer', true],
    ['SIM issuer', false],
    ['administrator', false],
  ])
})

people('shows more of every list when there is more', async () => {
  const lists = [
    ['users', 'users', 'users', user],
    ['invitations', 'users/invitations', 'invitations', invitation],
    ['tokens', 'tokens', 'tokens', token],
    ['sessions', 'auth/sessions', 'sessions', session],
  ] as const
  for (const [tab, path, name, row] of lists) {
    const page = await open(`/people?tab=${tab}`, {
      [`GET /v1/${path}`]: ({ query }) =>
        query.cursor === undefined ? list(name, [row('1', 'a')], 'next') : list(name, [row('2', 'b')]),
    })
    assert.is(page.rows().length, 1, tab)
    await page.press('Show more')
    assert.is(page.rows().length, 2, tab)
    assert.not(page.buttons().includes('Show more'), tab)
  }
})

people('makes a token that ends, or one that does not, and shows it once', async () => {
  for (const [chosen, sent] of [
    ['90d', { expires_in: '90d' }],
    ['', {}],
  ] as const) {
    const page = await open('/people?tab=tokens', {
      'GET /v1/tokens': list('tokens', []),
      'POST /v1/tokens': { name: 'meter', token: 'svc_shown' },
    })
    await page.press('Create token')
    await page.put('Name', 'meter')
    await page.put('Valid for', chosen)
    await page.press('Create token')
    assert.equal(page.changes(), [['POST /v1/tokens', { name: 'meter', roles: ['viewer'], ...sent }]])
    assert.match(page.text(), 'svc_shown')
    await page.press('I have saved it')
    assert.not.match(page.text(), 'svc_shown')
  }
})

people('deletes the token that was chosen, and says so when it is gone', async () => {
  const page = await open('/people?tab=tokens', {
    'GET /v1/tokens': list('tokens', [token('1', 'meter'), token('2', 'box', { kind: 'bootstrap' })]),
    'DELETE /v1/tokens/2': {},
  })
  assert.equal(
    page.rows().map((row) => row.slice(0, 3)),
    [
      ['meter', 'viewer', 'until you delete it'],
      ['box', 'lets a box join', 'until you delete it'],
    ],
  )
  await page.press('Delete: box')
  assert.is(page.dialog(), 'Delete the token box?')
  page.answer({ 'GET /v1/tokens': list('tokens', [token('1', 'meter')]) })
  await page.press('Delete')
  assert.equal(page.changes(), [['DELETE /v1/tokens/2', undefined]])
  assert.is(page.dialog(), undefined)
  assert.is(page.rows().length, 1)
  assert.match(page.text(), 'The token is deleted.')
})

people('deletes no token that is the only way in, and says which one is one’s own', async () => {
  const own = token('1', 'test', { roles: ['admin'] })
  const other = token('2', 'spare', { roles: ['admin'] })
  const never = [user('1', 'ada', { roles: ['admin'] })]
  const here = [
    user('1', 'ada', { roles: ['admin'], last_login_at: '2026-01-01T12:00:00Z' }),
    user('2', 'bo', { last_login_at: '2026-01-01T12:00:00Z' }),
  ]
  for (const [tokens, users, isRefused] of [
    [[own], never, true],
    [[own], [here[1] ?? {}], true],
    [[own, token('2', 'spare')], never, true],
    [[own, { ...other, expires_at: '2026-01-02T12:00:00Z' }], never, true],
    [[own, other], never, false],
    [[own], here, false],
  ] as const) {
    const page = await open('/people?tab=tokens', {
      'GET /v1/tokens': list('tokens', tokens),
      'GET /v1/users': list('users', users),
      'DELETE /v1/tokens/1': {},
    })
    await page.press('Delete: test')
    assert.match(page.text(), 'This is your own sign-in')
    assert.is(!page.buttons().includes('Delete'), isRefused, JSON.stringify([tokens, users]))
    if (isRefused) continue
    await page.press('Delete')
    assert.equal(page.changes(), [['DELETE /v1/tokens/1', undefined]])
  }
  const page = await open('/people?tab=tokens', { 'GET /v1/tokens': list('tokens', [own, other]) })
  await page.press('Delete: spare')
  assert.not.match(page.text(), 'your own')
})

people('shows no failure of one thing in the question about another', async () => {
  const lists: readonly (readonly [string, Answers, string, string])[] = [
    ['tokens', { 'GET /v1/tokens': list('tokens', [token('1', 'a'), token('2', 'b')]) }, 'Delete', 'Delete'],
    [
      'invitations',
      { 'GET /v1/users/invitations': list('invitations', [invitation('1', 'a'), invitation('2', 'b')]) },
      ...(['Withdraw', 'Withdraw'] as const),
    ],
  ]
  for (const [tab, answers, ask, confirm] of lists) {
    const page = await open(`/people?tab=${tab}`, answers)
    await page.press(`${ask}: a`)
    await page.press(confirm)
    assert.match(page.text(), 'the test has no answer', tab)
    await page.press('Cancel')
    await page.press(`${ask}: b`)
    assert.not.match(page.text(), 'the test has no answer', tab)
  }
})

people('names devices as people do', async () => {
  const agents = [
    ['Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0', 'Firefox, Linux'],
    ['Mozilla/5.0 (Linux; Android 14) Chrome/120.0 Mobile Safari/537.36', 'Chrome, Android'],
    ['Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Version/17.0 Safari/604.1', 'Safari, iPhone'],
    ['Mozilla/5.0 (Windows NT 10.0) Chrome/120.0 Safari/537.36 Edg/120.0', 'Edge, Windows'],
    ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) Version/17.0 Safari/605.1', 'Safari, Mac OS'],
    ['curl/8.5.0', 'curl'],
    ['something of somebody, of which nobody has heard before', 'something of somebody, of which nobody h'],
  ] as const
  const sessions = agents.map(([agent], at) => session(String(at), 'ada', { agent, current: at === 0 }))
  const page = await open('/people?tab=sessions', { 'GET /v1/auth/sessions': list('sessions', sessions) })
  assert.equal(
    page.rows().map(([, device]) => device),
    agents.map(([, said]) => said),
  )
  assert.match(page.text(), 'this session')
  // One's own is ended by signing out.
  assert.is(page.buttons().filter((name) => name === 'End session: ada').length, agents.length - 1)
})

people('sets roles, and asks once more before nobody is an administrator', async () => {
  const page = await open('/people/2', {
    ...PERSON,
    'POST /v1/users/2/roles': ({ query }) =>
      query.force === 'true' ? user('2', 'bo') : new Refusal(409, 'last_admin', 'bo is the last one'),
  })
  assert.match(page.text(), '8 of ten are left')
  await page.press('Change roles')
  assert.equal(
    page.ticks().flatMap(([role, isOn]) => (isOn ? [role] : [])),
    ['viewer', 'operator'],
  )
  for (const role of ['viewer', 'operator']) await page.tick(role)
  assert.ok(page.isDisabled('Change roles'), 'who may nothing is removed')
  await page.tick('viewer')
  await page.press('Change roles')
  assert.match(page.text(), 'bo is the last one')
  await page.tick(
    'Do it anyway. Then no person is an administrator: only the admin token of the box is left.',
  )
  await page.press('Change roles')
  assert.equal(page.changes(), [
    ['POST /v1/users/2/roles', { roles: ['viewer'] }],
    ['POST /v1/users/2/roles', { roles: ['viewer'] }],
  ])
  assert.is(page.dialog(), undefined)
})

people('forces no removal that is asked for afresh', async () => {
  const forced: (string | undefined)[] = []
  const page = await open('/people/2', {
    ...PERSON,
    'DELETE /v1/users/2': ({ query }) => {
      forced.push(query.force)
      return new Refusal(409, 'last_admin', 'bo is the last one')
    },
  })
  await page.press('Remove')
  await page.press('Remove')
  await page.tick(
    'Do it anyway. Then no person is an administrator: only the admin token of the box is left.',
  )
  await page.press('Cancel')
  await page.press('Remove')
  assert.not.match(page.text(), 'Do it anyway')
  await page.press('Remove')
  assert.equal(forced, ['false', 'false'])
})

people('leaves the page of somebody who is removed, and says when somebody is gone', async () => {
  const page = await open('/people/2', { ...PERSON, 'DELETE /v1/users/2': {} })
  await page.press('Remove')
  await page.press('Remove')
  assert.is(page.address(), '/people')
  assert.match(page.text(), 'bo is removed.')
  const gone = await open('/people/9', PERSON)
  assert.match(gone.text(), 'This person does not exist any more')
})

people('gives another authenticator, or everything anew, after the question that belongs to it', async () => {
  for (const [button, route, danger] of [
    ['New authenticator', 'totp', 'New authenticator for bo?'],
    ['Reset credentials', 'reset', 'Reset all credentials of bo?'],
  ] as const) {
    const page = await open('/people/2', { ...PERSON, [`POST /v1/users/2/${route}`]: DRAWN })
    await page.press(button)
    assert.is(page.dialog(), danger)
    await page.press(button)
    assert.equal(
      page.changes().map(([call]) => call),
      [`POST /v1/users/2/${route}`],
    )
    assert.is(page.dialog(), 'New credentials of bo')
  }
})

people('shows passkeys and certificates as they stand, and takes away the one that was pressed', async () => {
  const made = { host_name: 'box', created_at: '2026-01-01T12:00:00Z', last_used_at: null }
  const passkeys = [
    { id: 'k1', label: 'phone', disabled_at: null, ...made },
    { id: 'k2', label: 'stick', disabled_at: '2026-02-01T12:00:00Z', ...made },
  ]
  const until = { expires_at: '2030-01-01T12:00:00Z' }
  const certificates = [
    { serial: '00112233445566778899', label: '', revoked_at: null, ...until },
    { serial: 'aa', label: 'laptop', revoked_at: '2026-02-01T12:00:00Z', ...until },
  ]
  const page = await open('/people/2', {
    ...PERSON,
    'GET /v1/users/2/passkeys': { passkeys },
    'GET /v1/users/2/certificates': { certificates },
    'DELETE /v1/users/2/passkeys/k2': {},
    'DELETE /v1/users/2/certificates/00112233445566778899': {},
  })
  assert.equal(
    page.rows('Passkeys').map((row) => [row[0], row[3]]),
    [
      ['phone', 'never'],
      ['stick', 'disabled: somebody copied it'],
    ],
  )
  assert.equal(
    page.rows('Certificates').map((row) => [row[0], row[2]]),
    [
      ['001122334455', 'Revoke'],
      ['laptop', 'revoked'],
    ],
  )
  await page.press('Remove: stick')
  await page.press('Revoke: 001122334455')
  assert.equal(
    page.changes().map(([call]) => call),
    ['DELETE /v1/users/2/passkeys/k2', 'DELETE /v1/users/2/certificates/00112233445566778899'],
  )
})

function invitation(id: string, name: string) {
  return { ...token(id, name), expires_at: '2030-01-01T12:00:00Z' }
}

function session(id: string, user_name: string, more: object = {}) {
  return {
    ...{ id, user_name, agent: 'curl', address: '192.0.2.1', method: 'password', current: false },
    ...{ last_used_at: '2026-01-01T12:00:00Z', ...more },
  }
}

people.run()
