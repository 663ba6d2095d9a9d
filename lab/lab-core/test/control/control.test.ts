import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { assert, suite } from '@steeple/testkit'
import { runDbctl } from '../../src/dbctl/commands.ts'
import { phoneName, readCards } from '../../src/phones/cards.ts'
import { RECORDED, startLab } from '../support/lab.ts'

const control = suite('lab-core/control')
const { imsi, ki, opc } = RECORDED
const name = phoneName(imsi)

interface Answer {
  readonly status: number
  readonly body: string
}

function send(url: string, method: string, headers: Record<string, string>, body = ''): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (response) => {
      text(response).then((all) => resolve({ status: response.statusCode ?? 0, body: all }), reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

control('takes exported cards, attaches, moves data, and shows neither IMSI nor key', async () => {
  await using lab = await startLab()
  const draw = () => '6b00336d94c05ec68f531651'
  await runDbctl(['add', imsi, ki, opc], { subscribers: lab.subscribers, draw })
  const url = lab.urls.control
  const post = (path: string, body = '') => send(url + path, 'POST', {}, body)
  const card = { imsi, iccid: '8999', ki, opc, adm1: '1', pin1: '2', puk1: '3', pin2: '4', puk2: '5' }
  // With what npm prints before it.
  const answers = [
    await post('/phones', `\n> steeple@0.0.0 svc\n> exec node\n\n${JSON.stringify([card], undefined, 2)}\n`),
    await post(`/phones/${name}/data`, '{"up_bytes": 100, "down_bytes": 2000}'),
    await send(`${url}/phones/${name}`, 'GET', {}),
    await send(`${url}/phones`, 'GET', {}),
    await post(`/phones/${name}/idle`),
    await post(`/phones/${name}/service-request`),
    await post('/phones/all/detach'),
    await post(`/phones/${name}/attach`),
  ]
  for (const { status, body } of answers) {
    assert.is(status, 200, body)
    assert.not.match(body, new RegExp(`${imsi}|${ki}|${opc}`))
  }
  assert.equal(JSON.parse(answers[2]?.body ?? ''), {
    phone: name,
    state: 'connected',
    problem: null,
    apn: 'internet',
    ipv4: '10.45.0.2',
    ipv6: '2001:db8:cafe:1::2',
    up_bytes: 100,
    down_bytes: 2_000,
    traffic: { up_kbps: 0, down_kbps: 0 },
    total: { up_bytes: 100, down_bytes: 2_000, up_packets: 1, down_packets: 2 },
  })
  assert.equal(
    answers.slice(4).map(({ body }) => /"state":"(\w+)"/.exec(body)?.[1]),
    ['idle', 'connected', 'detached', 'connected'],
  )
  assert.is((await send(`${url}/phones/${name}`, 'DELETE', {})).body, '{"removed":1}\n')
  assert.equal(lab.sessions.list(), [])
})

control('says what is wrong with a request', async () => {
  await using lab = await startLab()
  const url = lab.urls.control
  await send(`${url}/phones?on=false`, 'POST', {}, JSON.stringify([RECORDED]))
  for (const [method, path, body, status] of [
    ['GET', '/nope', '', 404],
    ['GET', '/phones/000000000000', '', 404],
    ['POST', `/phones/${name}/explode`, '', 404],
    ['POST', `/phones/${name}/constructor`, '', 404],
    ['POST', `/phones/${name}/data`, '{"up_bytes": 1}', 409],
    ['POST', `/phones/${name}/data`, '{"up_bytes": -1}', 400],
    ['POST', `/phones/${name}/data`, '{"up_bytes": 100, "kbps": 0}', 400],
    ['POST', `/phones/${name}/data`, '{"up_bytes": 100, "interface": "n9"}', 400],
    ['POST', `/phones/${name}/traffic`, '{"up_kbps": -1}', 400],
    ['POST', `/phones/${name}/traffic`, '{"down_kbps": "fast"}', 400],
    ['POST', `/phones/${name}/data`, 'x', 400],
    ['POST', '/phones', '{"k":1}', 400],
    ['POST', '/phones', `[{"imsi":"${imsi}","ki":"short","opc":"${opc}"}]`, 400],
    ['PUT', '/phones', '[]', 405],
    ['POST', '/radio/sideways', '', 404],
  ] as const) {
    const answer = await send(url + path, method, {}, body)
    assert.is(answer.status, status, `${method} ${path}: ${answer.body}`)
    assert.not.match(answer.body, new RegExp(`${imsi}|${opc}`))
  }
  assert.match((await send(url, 'GET', {})).body, /POST {3}\/phones /)
})

control('refuses names of other machines and pages of other origins', async () => {
  await using lab = await startLab()
  const url = `${lab.urls.control}/phones`
  const { host } = new URL(url)
  for (const headers of [
    { host: 'evil.example' },
    { host: 'evil.example:9091' },
    { host: '127.0.0.1.evil.example' },
    { host: '10.0.0.1' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://127.0.0.1:1' },
    { 'sec-fetch-site': 'cross-site' },
  ])
    assert.is((await send(url, 'POST', headers, '[]')).status, 403, JSON.stringify(headers))
  for (const headers of [{}, { host: 'localhost:1' }, { host: '[::1]' }, { origin: `http://${host}` }])
    assert.is((await send(url, 'POST', headers, '[]')).status, 200, JSON.stringify(headers))
})

control('reads cards and nothing else', () => {
  assert.equal(readCards(JSON.stringify([{ ...RECORDED, ki: ki.toUpperCase() }])), [RECORDED])
  for (const text of ['', '[', '{}', '[1]', '[null]', `[{"imsi":"x","ki":"${ki}","opc":"${opc}"}]`])
    assert.throws(() => readCards(text))
})

control.run()
