import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer, type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { assert, enterOwnNetwork, eventually, listen, suite, unusedPort } from '@steeple/testkit'
import { runsWith } from '../harness/compatibility/runs.ts'
import { type Mongo, needMongo, startMongo } from '../harness/hss/mongo.ts'
import { OPEN } from '../harness/radio/box.ts'
import { type Service, startService } from '../harness/service.ts'

const FAP = 'Device.Services.FAPService.1'
const ADMIN = `${FAP}.FAPControl.LTE.AdminState`
const RF_TX = `${FAP}.FAPControl.LTE.RFTxStatus`
const EARFCN = `${FAP}.CellConfig.LTE.RAN.RF.EARFCNDL`
const CALLED_AT = 'Device.ManagementServer.ConnectionRequestURL'
/** What GenieACS makes of the DeviceId below. */
const DEVICE = '202BC1-SmallCell-000001'

/** An LTE cell by TR-196, which an ACS manages by CWMP (TR-069): it comes when it is called. */
interface CwmpCell {
  readonly device: string
  /** Turned on: AdminState, which its transmitter follows. */
  isOn: boolean
  /** The code with which it refuses to be set; undefined: it does not. */
  fault: string | undefined
  isReachable: boolean
  /** How often an ACS has turned it on. */
  readonly timesTurnedOn: number
  /** Comes by itself, as after its power came back. */
  comes(): Promise<void>
  close(): Promise<void>
}

/** Starts the cell, which the ACS at `acsUrl` knows when it resolves. */
async function startCwmpCell(acsUrl: string): Promise<CwmpCell> {
  let timesTurnedOn = 0
  let sessions: Promise<void> = Promise.resolve()
  const comes = (event: string): Promise<void> => {
    sessions = sessions.catch(() => undefined).then(() => session(event))
    return sessions
  }
  const server = createServer((called, response) => {
    if (!cell.isReachable) return void called.socket.destroy()
    response.end()
    comes('6 CONNECTION REQUEST').catch(() => undefined) // the ACS is away: it calls again
  })
  const { url, close } = await listen(server)
  const parameter = (name: string): readonly [type: string, value: string] | undefined => {
    if (name === CALLED_AT) return ['string', `${url}/`]
    if (name === EARFCN) return ['unsignedInt', '3350']
    return name === ADMIN || name === RF_TX ? ['boolean', String(cell.isOn)] : undefined
  }
  const given = (names: readonly string[]): string => {
    const structs = names.map((name) => {
      const [type, value] = parameter(name) ?? ['string', '']
      return `<ParameterValueStruct><Name>${name}</Name><Value xsi:type="xsd:${type}">${value}</Value></ParameterValueStruct>`
    })
    return list('ParameterValueStruct', structs)
  }
  const set = (value: boolean): void => {
    if (value && !cell.isOn) timesTurnedOn += 1
    cell.isOn = value
  }
  const answerTo = (asked: string): string => {
    if (asked.includes('cwmp:GetParameterNames')) return namesBelow(asked)
    const names = [...asked.matchAll(/<(?:string|Name)[^>]*>([^<]+)</g)].map(([, name = '']) => name)
    if (asked.includes('cwmp:GetParameterValues'))
      return `<cwmp:GetParameterValuesResponse>${given(names)}</cwmp:GetParameterValuesResponse>`
    if (cell.fault !== undefined) return faultOf(cell.fault)
    if (names.includes(ADMIN)) set(/<Value[^>]*>(true|1)</.test(asked))
    return '<cwmp:SetParameterValuesResponse><Status>0</Status></cwmp:SetParameterValuesResponse>'
  }
  /** One session: Inform, then what the ACS asks until it has nothing more. */
  const session = async (event: string): Promise<void> => {
    // GenieACS has a session by its connection.
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    let cookie = ''
    const say = async (body: string): Promise<string> => {
      const headers = { 'content-type': 'text/xml', 'content-length': Buffer.byteLength(body), cookie }
      const asked = request(acsUrl, { method: 'POST', headers, agent }).end(body)
      const [answer] = (await once(asked, 'response')) as [IncomingMessage]
      cookie = answer.headers['set-cookie']?.[0]?.split(';')[0] ?? cookie
      const said = await text(answer)
      if (answer.statusCode !== 200 && answer.statusCode !== 204) throw new Error(`the ACS answered: ${said}`)
      return said
    }
    await say(envelope('1', inform(event, given([CALLED_AT]))))
    for (let asked = await say(''); asked !== ''; ) {
      const [, id = ''] = /<cwmp:ID[^>]*>([^<]*)</.exec(asked) ?? []
      asked = await say(envelope(id, answerTo(asked)))
    }
    agent.destroy()
  }
  const cell: CwmpCell = {
    ...{ device: DEVICE, isOn: false, fault: undefined, isReachable: true },
    get timesTurnedOn() {
      return timesTurnedOn
    },
    // GenieACS turns it away for the moment in which it takes a task.
    comes: () => eventually(() => comes('1 BOOT')),
    close,
  }
  await cell.comes()
  return cell
}

/** The names of its model that a GetParameterNames asks for. */
function namesBelow(asked: string): string {
  const [, path = ''] = /<ParameterPath[^>]*>([^<]*)</.exec(asked) ?? []
  const isNextLevel = /<NextLevel[^>]*>(true|1)</.test(asked)
  const leaves = [CALLED_AT, ADMIN, RF_TX, EARFCN]
  const objects = leaves.flatMap((leaf) =>
    [...leaf.matchAll(/\./g)].map(({ index }) => leaf.slice(0, index + 1)),
  )
  const below = [...new Set([...objects, ...leaves])].filter(
    (name) =>
      name.startsWith(path) && name !== path && !(isNextLevel && name.slice(path.length, -1).includes('.')),
  )
  const structs = below.map(
    (name) =>
      `<ParameterInfoStruct><Name>${name}</Name><Writable>${name === ADMIN}</Writable></ParameterInfoStruct>`,
  )
  return `<cwmp:GetParameterNamesResponse>${list('ParameterInfoStruct', structs)}</cwmp:GetParameterNamesResponse>`
}

function list(of: string, structs: readonly string[]): string {
  return `<ParameterList soap-enc:arrayType="cwmp:${of}[${structs.length}]">${structs.join('')}</ParameterList>`
}

function inform(event: string, parameters: string): string {
  const id =
    '<Manufacturer>Example</Manufacturer><OUI>202BC1</OUI><ProductClass>SmallCell</ProductClass><SerialNumber>000001</SerialNumber>'
  const events = `<EventStruct><EventCode>${event}</EventCode><CommandKey></CommandKey></EventStruct>`
  const rest = `<MaxEnvelopes>1</MaxEnvelopes><CurrentTime>${new Date().toISOString()}</CurrentTime><RetryCount>0</RetryCount>`
  return `<cwmp:Inform><DeviceId>${id}</DeviceId><Event soap-enc:arrayType="cwmp:EventStruct[1]">${events}</Event>${rest}${parameters}</cwmp:Inform>`
}

function faultOf(code: string): string {
  const detail = `<cwmp:Fault><FaultCode>${code}</FaultCode><FaultString>Invalid arguments</FaultString></cwmp:Fault>`
  return `<soap-env:Fault><faultcode>Client</faultcode><faultstring>CWMP fault</faultstring><detail>${detail}</detail></soap-env:Fault>`
}

function envelope(id: string, body: string): string {
  const names = Object.entries({
    'soap-enc': 'http://schemas.xmlsoap.org/soap/encoding/',
    'soap-env': 'http://schemas.xmlsoap.org/soap/envelope/',
    xsd: 'http://www.w3.org/2001/XMLSchema',
    xsi: 'http://www.w3.org/2001/XMLSchema-instance',
    cwmp: 'urn:dslforum-org:cwmp-1-0',
  }).map(([prefix, name]) => `xmlns:${prefix}="${name}"`)
  const header = `<soap-env:Header><cwmp:ID soap-env:mustUnderstand="1">${id}</cwmp:ID></soap-env:Header>`
  return `<soap-env:Envelope ${names.join(' ')}>${header}<soap-env:Body>${body}</soap-env:Body></soap-env:Envelope>`
}

const FOLDER = process.env.SVC_TEST_GENIEACS ?? ''

/** GenieACS itself over a database of its own. */
interface Genieacs {
  /** Of its northbound interface. */
  readonly url: string
  /** Where cells come. */
  readonly cwmpUrl: string
  readonly database: Mongo
  /** What it keeps of the collection. */
  list(collection: 'tasks' | 'faults'): Promise<readonly unknown[]>
  close(): Promise<void>
}

/** Ends the file of tests, also in CI, with a word of what it needs: no registry has GenieACS. */
function needGenieacs(): void {
  needMongo()
  if (existsSync(join(FOLDER, 'bin/genieacs-nbi'))) return
  process.stdout.write(
    'needs SVC_TEST_GENIEACS, a folder with bin/genieacs-cwmp and bin/genieacs-nbi of GenieACS\n',
  )
  process.exit(0)
}

async function startGenieacs(): Promise<Genieacs> {
  runsWith(
    'GenieACS',
    process.execPath,
    '-p',
    `require(${JSON.stringify(join(FOLDER, 'package.json'))}).version`,
  )
  const database = await startMongo()
  const [cwmpPort, nbiPort] = [await unusedPort(), await unusedPort()]
  const start = (name: 'cwmp' | 'nbi', port: number) => {
    const own = `GENIEACS_${name.toUpperCase()}`
    const env = {
      ...process.env,
      GENIEACS_MONGODB_CONNECTION_URL: `${database.url}/genieacs`,
      [`${own}_INTERFACE`]: '127.0.0.1',
      [`${own}_PORT`]: String(port),
      [`${own}_WORKER_PROCESSES`]: '1',
    }
    return spawn(process.execPath, [join(FOLDER, 'bin', `genieacs-${name}`)], { env, stdio: 'ignore' })
  }
  const children = [start('cwmp', cwmpPort), start('nbi', nbiPort)]
  const url = `http://127.0.0.1:${nbiPort}`
  const cwmpUrl = `http://127.0.0.1:${cwmpPort}/`
  await eventually(async () => (await fetch(`${url}/tasks/`)).ok && (await fetch(cwmpUrl)).status > 0)
  return {
    ...{ url, cwmpUrl, database },
    list: async (collection) => (await (await fetch(`${url}/${collection}/`)).json()) as readonly unknown[],
    close: async () => {
      const gone = children.map((child) => once(child, 'exit'))
      for (const child of children) child.kill()
      await Promise.all(gone)
      await database.close()
    },
  }
}

enterOwnNetwork(import.meta.filename)
needGenieacs()

/** A cell that runs by itself, and the real GenieACS between it and the gate. */
const real = suite('e2e/real-genieacs', { limitMs: 120_000 })
const folder = mkdtempSync(join(tmpdir(), 'steeple-genieacs-'))

let acs: Genieacs
let cell: CwmpCell
let service: Service

real.before(async () => {
  acs = await startGenieacs()
  cell = await startCwmpCell(acs.cwmpUrl)
  const ran = {
    program: 'external',
    external: { poll: '1s', stays_on: true, switch: { genieacs: { url: acs.url, device: cell.device } } },
    profiles: { mast: { technology: 'lte', channel: 3_350, band: 'b7', bandwidth_mhz: 5, eirp_dbm: 20 } },
  }
  const config = join(folder, 'control.yaml')
  writeFileSync(
    config,
    JSON.stringify({ server: { mode: 'rf', country: 'DE' }, hss: { driver: 'none' }, ran }),
  )
  service = await startService({ flags: ['--config', config], dataDir: join(folder, 'data') })
  assert.is((await service.request('PUT', '/v1/policy', { body: OPEN })).status, 200)
  await isOff()
})
real.after(async () => {
  await service?.stop()
  await cell?.close()
  await acs?.close()
  rmSync(folder, { recursive: true, force: true })
})

const arm = () => service.request('POST', '/v1/tx/arm', { body: { arm: true, profile_id: 'mast' } })
const disarm = () => service.request('POST', '/v1/tx/disarm')

async function transmitter(is: string): Promise<void> {
  await eventually(async () => {
    const { body } = await service.request('GET', '/v1/tx/arm')
    assert.is(body.transmitter, is, JSON.stringify(body))
  }, 30_000)
}

async function healthSays(what: RegExp): Promise<void> {
  await eventually(async () => {
    const { body } = await service.request('GET', '/v1/health')
    assert.match(JSON.stringify(body), what)
  }, 30_000)
}

async function isOff(): Promise<void> {
  await transmitter('off')
  assert.is(cell.isOn, false)
}

async function isOnAir(): Promise<void> {
  const { status, body } = await arm()
  assert.is(status, 200, JSON.stringify(body))
  await eventually(() => assert.is(cell.isOn, true), 30_000)
  await transmitter('on')
}

real('turns the cell on, and says that it is off when the cell says so', async () => {
  await isOnAir()
  const { status, body } = await disarm()
  assert.is(status, 200, JSON.stringify(body))
  await isOff()
  assert.equal([await acs.list('tasks'), await acs.list('faults')], [[], []])
})

real('turns off a cell that came back by itself, although GenieACS knows it as off', async () => {
  cell.isOn = true
  await eventually(() => assert.is(cell.isOn, false), 30_000)
  await isOff()
})

real('does not call a cell off that does not come, and turns it off when it does', async () => {
  await isOnAir()
  cell.isReachable = false
  const { status, body } = await disarm()
  assert.is(status, 503, JSON.stringify(body))
  await transmitter('unconfirmed')
  assert.is(cell.isOn, true)
  await cell.comes()
  assert.is(cell.isOn, false, 'the order to turn off had waited')
  cell.isReachable = true
  await isOff()
})

real('leaves nothing in GenieACS of an order that the cell refuses', async () => {
  cell.fault = '9003'
  await arm()
  await healthSays(/refuses what GenieACS asks of it: cwmp\.9003/)
  await disarm()
  await isOff()
  cell.fault = undefined
  await eventually(async () => assert.equal([await acs.list('tasks'), await acs.list('faults')], [[], []]))
})

real('gives the cell no order to turn on that waited for the database of GenieACS', async () => {
  const before = cell.timesTurnedOn
  acs.database.freeze()
  await arm()
  await healthSays(/did not answer in time/)
  assert.is((await disarm()).status, 503)
  acs.database.thaw()
  await isOff()
  await cell.comes()
  assert.is(cell.timesTurnedOn, before)
})

real.run()
