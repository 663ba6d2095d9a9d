import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { eventually } from '@steeple/testkit'

const FAP = 'Device.Services.FAPService.1'
const ADMIN = `${FAP}.FAPControl.LTE.AdminState`
const RF_TX = `${FAP}.FAPControl.LTE.RFTxStatus`
const EARFCN = `${FAP}.CellConfig.LTE.RAN.RF.EARFCNDL`
const CALLED_AT = 'Device.ManagementServer.ConnectionRequestURL'
/** What GenieACS makes of the DeviceId below. */
const DEVICE = '202BC1-SmallCell-000001'

/** An LTE cell by TR-196, which an ACS manages by CWMP (TR-069): it comes when it is called. */
export interface CwmpCell {
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
  close(): void
}

/** Starts the cell, which the ACS at `acsUrl` knows when it resolves. */
export async function startCwmpCell(acsUrl: string): Promise<CwmpCell> {
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const parameter = (name: string): readonly [type: string, value: string] | undefined => {
    if (name === CALLED_AT) return ['string', `http://127.0.0.1:${port}/`]
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
    close: () => {
      server.closeAllConnections()
      server.close()
    },
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
