import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { assert, eventually, suite } from '@steeple/testkit'
import { runDbctl } from '../../src/dbctl/commands.ts'
import type { LabCore } from '../../src/lab-core.ts'
import { RECORDED, recorded, startLab } from '../support/lab.ts'

/** Everything that a server sends for a request, as it comes over the wire. */
async function rawHttp(url: string, method: string, path: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.end(`${method} ${path} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`)
  return await text(socket)
}

const contract = suite('lab-core/info contract')

/** Requests of a recording with what came, `### <method> <url> …` before each. */
function exchanges(name: string): readonly { method: string; path: string; answer: string }[] {
  const parts = recorded(name).split(/^### /m).slice(1)
  return parts.map((part) => {
    const [head = '', ...rest] = part.split('\n')
    const [method = '', target = ''] = head.split(' ')
    return { method, path: target.replace(/^http:\/\/[^/]+/, ''), answer: rest.join('\n') }
  })
}

/** Lines as they were recorded: without CR, dates and figures of a process away, blank lines at the end as they fell. */
function normal(answer: string): string {
  return answer
    .replaceAll('\r\n', '\n')
    .replace(/^Date: .*$/m, 'Date: D')
    .replace(/^Content-Length: \d{4,}$/m, 'Content-Length: N')
    .replaceAll(/^(process_\w+) -?\d+$/gm, '$1 P')
    .trimEnd()
}

/** Ids and times of a recorded list away. */
function normalList(text: string): string {
  return text
    .trim()
    .replaceAll(/"timestamp":[0-9.e+]+/g, '"timestamp":T')
    .replaceAll(/"(\w+_ngap_id|ostream_id)":\d+/g, '"$1":N')
    .replaceAll(/"supi":"\d+"/g, '"supi":"S"')
    .replaceAll(/"prev":"[^"]*",?|"next_ostream_id":\d+/g, '')
}

async function addRecorded(lab: LabCore): Promise<void> {
  const { imsi, ki, opc } = RECORDED
  const draw = () => '6b00336d94c05ec68f531651'
  await runDbctl(['add', imsi, ki, opc], { subscribers: lab.subscribers, draw })
}

async function attached(lab: LabCore): Promise<void> {
  const [named] = await lab.fleet.insert([RECORDED])
  named?.phone.powerOn()
  await eventually(() => named?.phone.state === 'connected')
}

const body = async (url: string): Promise<string> => await (await fetch(url)).text()

contract('answers the recorded requests to an MME without phones byte for byte', async () => {
  await using lab = await startLab()
  // The recording was made before an eNB came.
  lab.mme.setRadio(false)
  const all = exchanges('mme-http-zero-ue.txt')
  assert.is(all.length, 14)
  for (const { method, path, answer } of all)
    assert.is(normal(await rawHttp(lab.urls.mme, method, path)), normal(answer), `${method} ${path}`)
})

contract('answers the recorded requests to an SMF without phones byte for byte', async () => {
  await using lab = await startLab()
  for (const { method, path, answer } of exchanges('smf-http-zero-ue.txt'))
    assert.is(normal(await rawHttp(lab.urls.smf, method, path)), normal(answer), `${method} ${path}`)
})

contract('answers for UPF, HSS and PCRF as recorded', async () => {
  await using lab = await startLab()
  for (const { method, path, answer } of exchanges('upf-http-zero-ue.txt'))
    assert.is(normal(await rawHttp(lab.urls.upf, method, path)), normal(answer), `${method} ${path}`)
  await addRecorded(lab)
  await attached(lab)
  for (const daemon of ['upf', 'hss', 'pcrf'] as const) {
    const shown = normal(await body(`${lab.urls[daemon]}/metrics`))
    assert.is(shown, normal(recorded(`${daemon}-metrics.one-ue-attached.txt`)), daemon)
  }
})

contract('shows an eNB, and a phone that is connected, idle and gone, as recorded', async () => {
  await using lab = await startLab()
  const sees = async (path: string, name: string, base = lab.urls.mme): Promise<void> =>
    assert.is(normalList(await body(base + path)), normalList(recorded(`${name}.json.txt`)), name)
  await sees('/enb-info', 'mme-enb-info.enb-connected-zero-ue')
  await addRecorded(lab)
  await attached(lab)
  await sees('/ue-info', 'mme-ue-info.attached-connected')
  await sees('/enb-info', 'mme-enb-info.one-ue-connected')
  await sees('/pdu-info', 'smf-pdu-info.attached-4g', lab.urls.smf)
  assert.is(
    normal(await body(`${lab.urls.smf}/metrics`)),
    normal(recorded('smf-metrics.one-ue-attached.txt')),
  )
  lab.fleet.all()[0]?.phone.goIdle()
  await sees('/ue-info', 'mme-ue-info.ecm-idle')
  await sees('/enb-info', 'mme-enb-info.ue-idle')
  await sees('/pdu-info', 'smf-pdu-info.ue-idle-4g', lab.urls.smf)
  assert.match(await body(`${lab.urls.mme}/metrics`), /^enb_ue 0$[\s\S]*^mme_session 1$/m)
  lab.fleet.all()[0]?.phone.detach()
  await sees('/ue-info', 'mme-ue-info.after-detach')
  await sees('/pdu-info', 'smf-pdu-info.after-detach', lab.urls.smf)
})

contract('writes the documents that the core writes, at add and at the first attach', async () => {
  await using lab = await startLab()
  await addRecorded(lab)
  const shown = (): unknown =>
    JSON.parse(JSON.stringify(lab.subscribers.find(RECORDED.imsi)).replaceAll(/"\$oid":"\w+"/g, '"$oid":"I"'))
  const expected = (name: string): unknown =>
    JSON.parse(recorded(name).replaceAll(/"\$oid": "\w+"/g, '"$oid":"I"'))
  assert.equal(shown(), expected('subscriber.after-dbctl-add.ejson-canonical.json.txt'))
  const keys = Object.keys(lab.subscribers.find(RECORDED.imsi) ?? {})
  await attached(lab)
  const fields = (doc: unknown): Record<string, unknown> => doc as Record<string, unknown>
  const { security, mme_timestamp, imeisv, ...rest } = fields(shown())
  const after = fields(expected('subscriber.after-attach.ejson-canonical.json.txt'))
  const { security: recordedSecurity, mme_timestamp: at, imeisv: sv, ...recordedRest } = after
  assert.equal(rest, recordedRest)
  assert.equal(Object.keys(fields(security)), Object.keys(fields(recordedSecurity)))
  for (const [ours, theirs] of [
    [mme_timestamp, at],
    [imeisv, sv],
  ])
    assert.is(JSON.stringify(ours).replaceAll(/\d+/g, 'N'), JSON.stringify(theirs).replaceAll(/\d+/g, 'N'))
  assert.equal(Object.keys(after).slice(0, keys.length), keys)
})

contract.run()
