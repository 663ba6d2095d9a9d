import { join } from 'node:path'
import { assert, eventually } from '@steeple/testkit'
import { mint } from '../credentials.ts'
import { addPerson, enter } from '../people.ts'
import { runSvc, type Service } from '../service.ts'
import type { PersonHere } from './commands.ts'
import type { Place } from './files.ts'
import { bytesNeedle, found, keyNeedles, type Needle, textNeedle } from './needles.ts'
import type { SecretTexts } from './secret-texts.ts'

/** A service under test, what is searched, and where. */
export interface Scene {
  readonly service: Service
  readonly dataDir: string
  readonly texts: SecretTexts
  /** Grows with every secret that the service makes. */
  readonly secrets: Needle[]
  /** What it and its commands have answered. */
  readonly answers: Place[]
  readonly outputs: Place[]
}

/** A token of some kind, whole. */
export interface NamedToken {
  readonly name: string
  readonly token: string
}

/** Keeps an answer for the search. */
export function keep({ answers }: Pick<Scene, 'answers'>, name: string, text: string): void {
  answers.push({ name, content: Buffer.from(text) })
}

/** What people do with a service before anything is searched: cards, tokens, texts, links to other boxes. */
export async function fillWithSecrets(scene: Scene): Promise<void> {
  await importCard(scene)
  await findCards(scene, await issueCards(scene))
  await typeEverywhere(scene)
  await linkBoxes(scene)
  await addReceivers(scene)
}

/** A token of each kind: live, expired, deleted, bootstrap, and one that was shown twice. */
export async function everyToken({ service, texts }: Scene): Promise<readonly NamedToken[]> {
  const live = await mint(service, { name: 'live', roles: ['viewer'] })
  const expired = await mint(service, { name: 'expired', roles: ['admin'], expires_in: '1ms' })
  const deleted = await mint(service, { name: 'deleted', roles: ['admin'] })
  const bootstrap = await mint(service, { name: 'bootstrap', kind: 'bootstrap' })
  await service.request('DELETE', `/v1/tokens/${deleted.id}`)
  // Shown once more, to whoever repeats the request that made it; kept sealed.
  const body = { name: 'repeated', roles: ['viewer'] }
  const headers = { 'idempotency-key': texts.password }
  const first = await service.request('POST', '/v1/tokens', { body, headers })
  const second = await service.request('POST', '/v1/tokens', { body, headers })
  assert.is(second.body.token, first.body.token)
  return [
    { name: 'a live token', token: live.token },
    { name: 'an expired token', token: expired.token },
    { name: 'a deleted token', token: deleted.token },
    { name: 'a bootstrap token', token: bootstrap.token },
    { name: 'a repeated token', token: first.body.token },
  ]
}

/** A person who has logged in and has drawn other recovery codes; all that was shown once is to be found nowhere. */
export async function personWithSecrets(scene: Scene): Promise<PersonHere> {
  const { service, secrets } = scene
  const person = await addPerson(service, 'ways-in', ['viewer'])
  const { token, cookie } = await enter(service, person)
  const before = person.recovery_codes
  const path = '/v1/auth/recovery-codes'
  const draw = (code: string) =>
    service.request('POST', path, { token, body: { password: person.password, code } })
  const refused = await draw('aaaa-bbbb-cccc-dddd')
  assert.is(refused.status, 401)
  const drawn = await draw(before[0] ?? '')
  assert.is(drawn.status, 200, JSON.stringify(drawn.body?.error))
  const { recovery_codes }: Pick<PersonHere, 'recovery_codes'> = drawn.body
  const left = await service.request('GET', path, { token })
  for (const { body } of [refused, left]) keep(scene, path, JSON.stringify(body))
  const shown = [person.password, token, cookie.split('=')[1] ?? '', ...before, ...recovery_codes]
  secrets.push(...shown.map((text) => textNeedle('a way in of a person', text)))
  return { token, password: person.password, recovery_codes }
}

/** A card whose secrets are known: as JSON, again (it exists then), and in rows that are refused. */
async function importCard(scene: Scene): Promise<void> {
  const { service, texts } = scene
  const { imsi, ki, opc } = texts
  const card = { imsi, ki, opc, label: texts.typed }
  const path = '/v1/sims/import'
  const first = await service.request('POST', path, { body: { sims: [card] } })
  assert.is(first.body.imported, 1, JSON.stringify(first.body))
  const refused = [
    { ...card, ki: `${ki}00` },
    { ...card, imsi: `${imsi}0`, opc: undefined },
    { ...card, imsi: `12345${imsi.slice(5)}` },
    { ...card, [ki]: 1 },
    ki,
    [imsi],
  ]
  const again = await service.request('POST', path, { body: { sims: [card, ...refused] } })
  keep(scene, `POST ${path}`, JSON.stringify([first.body, again.body]))
  const csv = `imsi,ki,opc,label\n${imsi},${ki},${opc},x\n${imsi},${ki}\n"${ki},${imsi}\n`
  const answer = await service.request('POST', path, { body: csv, headers: { 'content-type': 'text/csv' } })
  keep(scene, `POST ${path} as CSV`, JSON.stringify(answer.body))
}

/**
 * Cards whose secrets the service draws; the one command that unseals them tells the test what to look for. Gives their
 * ICCIDs.
 */
async function issueCards({ service, dataDir, texts, secrets, outputs }: Scene): Promise<readonly string[]> {
  const { body } = await service.request('POST', '/v1/sims', { body: { count: 3, label: texts.typed } })
  const args = ['sim', 'export', body.batch_id, '--data-dir', dataDir, '--format', 'json']
  const { code, stdout, stderr } = await runSvc(args)
  assert.is(code, 0, stderr)
  const cards: readonly Readonly<Record<string, string>>[] = JSON.parse(stdout)
  assert.is(cards.length, 3)
  for (const card of cards) {
    for (const name of ['imsi', 'iccid', 'ki', 'opc']) {
      const value = card[name] ?? ''
      assert.ok(value.length >= 15, name)
      secrets.push(textNeedle(`the ${name} of an issued card`, value))
      const isKey = value.length === 32
      if (isKey)
        secrets.push(bytesNeedle(`the ${name} of an issued card, the bytes`, Buffer.from(value, 'hex')))
    }
  }
  // The search itself is tried on what must be there.
  const drawn = secrets.filter(({ name }) => name.endsWith('of an issued card'))
  assert.is(found(drawn, Buffer.from(stdout)).length, drawn.length)
  outputs.push({ name: 'svc sim export, on standard error', content: Buffer.from(stderr) })
  return cards.map(({ iccid = '' }) => iccid)
}

/** Every whole identifier is asked for where it belongs, beside others, and where it does not. */
async function findCards(scene: Scene, iccids: readonly string[]): Promise<void> {
  const { service } = scene
  const { imsi } = scene.texts
  const path = '/v1/sims/find'
  const others = [{ imsi: `${imsi}0` }, { iccid: imsi }, { imsi, [imsi.slice(1)]: 1 }, { imsi: [imsi] }]
  const first = await service.request('POST', path, { body: { imsi } })
  assert.is(first.body.sims?.length, 1, JSON.stringify(first.body))
  keep(scene, `POST ${path}`, JSON.stringify(first.body))
  for (const iccid of iccids) {
    const answer = await service.request('POST', path, { body: { iccid } })
    assert.is(answer.body.sims?.length, 1, JSON.stringify(answer.body))
    keep(scene, `POST ${path} by ICCID`, JSON.stringify(answer.body))
  }
  // What names an unknown property goes back to whoever sent it.
  for (const body of others) assert.is((await service.request('POST', path, { body })).status, 400)
  for (const q of [imsi, ...iccids]) {
    const answer = await service.request('GET', `/v1/sims?q=${q}`)
    assert.is(answer.status, 400)
    keep(scene, 'GET /v1/sims with it in q', JSON.stringify(answer.body))
  }
}

/** A text in the fields that people fill in, where it is kept. */
async function typeEverywhere({ service, texts, secrets }: Scene): Promise<void> {
  const { typed } = texts
  const [node] = (await service.request('GET', '/v1/nodes')).body.nodes
  const component = { name: 'agent', status: 'ok', detail: typed }
  const at = new Date().toISOString()
  const changes: readonly (readonly [method: string, path: string, body: object])[] = [
    ['POST', '/v1/tokens', { name: typed, roles: ['viewer'] }],
    ['POST', '/v1/tokens', { name: typed, kind: 'bootstrap', node_name: typed }],
    ['PUT', '/v1/policy', { spectrum: { license: { acknowledged: true, reference: typed, holder: typed } } }],
    [
      'POST',
      '/v1/telemetry',
      { node_id: node.node_id, at, seq: 1, components: [component], versions: { os: typed } },
    ],
    ['POST', '/v1/sims', { label: typed, profile: typed }],
  ]
  for (const [method, path, body] of changes) {
    const answer = await service.request(method, path, { body })
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    if (path === '/v1/tokens') secrets.push(textNeedle('a token with a typed name', answer.body.token))
  }
}

/** A receiver of alerts of each kind, with a secret that does not get anywhere, tried, changed, refused and removed. */
async function addReceivers(scene: Scene): Promise<void> {
  const { service } = scene
  const { receiver: secret } = scene.texts
  // Nothing listens there.
  const [server, url] = ['http://127.0.0.1:9', `http://127.0.0.1:9/${secret}`]
  const mail = {
    host: '127.0.0.1',
    port: 9,
    encryption: 'none',
    user: 'box',
    from: 'a@b.example',
    to: 'a@b.example',
  }
  const bodies: readonly object[] = [
    {
      kind: 'webhook',
      url,
      secret: `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
      authorization: secret,
    },
    { kind: 'ntfy', server, topic: secret, token: secret },
    { kind: 'matrix', server, room: '!room:example.org', token: secret },
    { kind: 'slack', url },
    { kind: 'telegram', server, chat: '1', token: secret },
    { kind: 'mail', ...mail, password: secret },
  ]
  const path = '/v1/alerts/receivers'
  for (const [index, body] of bodies.entries()) {
    const name = `canary-${index}`
    const request = (method: string, end: string, sent?: object) =>
      service.request(method, `${path}${end}`, { body: sent })
    const whole = { name, allow_private: true, ...body }
    const added = await request('POST', '', whole)
    assert.is(added.status, 201, JSON.stringify(added.body))
    const answers = [
      added,
      await request('POST', '', whole),
      await request('POST', '', { ...whole, secret, token: `${secret} ` }),
      await request('POST', `/${name}/test`, {}),
      await request('PUT', `/${name}`, {
        ...body,
        kind: undefined,
        host: undefined,
        server: 'http://127.0.0.1:10',
      }),
      await request('GET', ''),
      await request('DELETE', `/${secret}`),
    ]
    for (const answer of answers) keep(scene, `${path} of ${name}`, JSON.stringify(answer.body))
    if (index > 0) assert.is((await request('DELETE', `/${name}`)).status, 204)
  }
}

/** A peer with a preshared key, and one in place of every other text of a peer that is refused; a key that is to come. */
async function linkBoxes(scene: Scene): Promise<void> {
  const { service, dataDir, secrets } = scene
  const { psk } = scene.texts
  const peer = {
    name: 'linked',
    endpoint: 'wg://192.0.2.9:51820',
    public_key: `${'B'.repeat(42)}A=`,
    routes: [],
  }
  const path = '/v1/peers'
  const first = await service.request('POST', path, { body: { ...peer, preshared_key: psk } })
  assert.is(first.status, 201, JSON.stringify(first.body))
  const again = await service.request('POST', path, { body: { ...peer, preshared_key: psk } })
  const wrong = await service.request('POST', path, { body: { ...peer, preshared_key: `${psk}0` } })
  const rotated = await service.request('POST', `${path}/rotate`, { body: {} })
  assert.is(rotated.status, 200, JSON.stringify(rotated.body))
  for (const { body } of [first, again, wrong, rotated]) keep(scene, `POST ${path}`, JSON.stringify(body))
  const { id } = first.body
  const record = async () => (await service.request('GET', `${path}/${id}`)).body
  // It is on the interface then, or the machine allows none.
  await eventually(async () => {
    const { problem } = (await service.request('GET', `${path}/self`)).body
    assert.ok(problem !== null || (await record()).last_endpoint !== null)
  })
  keep(scene, `GET ${path}`, JSON.stringify(await record()))
  assert.is((await service.request('DELETE', `${path}/${id}`)).status, 204)
  // The same name may be another key's by now.
  const known = new Set(secrets.map(({ forms }) => String(forms[0])))
  secrets.push(...keyNeedles(join(dataDir, 'keys')).filter(({ forms }) => !known.has(String(forms[0]))))
}
