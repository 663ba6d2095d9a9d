import { createServer, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { listen } from '@steeple/testkit'
import snmp from 'net-snmp'

interface Answer {
  readonly status: number
  readonly body?: unknown
}

/** An HTTP server on loopback. It gives no answer where `answer` has none. */
export async function httpServer(
  answer: (request: IncomingMessage, body: string) => Answer | undefined,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    const given = answer(request, await text(request))
    if (given === undefined) return
    const { status, body: said } = given
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof said === 'string' ? said : JSON.stringify(said ?? {}))
  })
  return await listen(server)
}

/** A PoE port with index 1.7, and what it draws in milliwatts in an object of its own. */
export interface PoeAgent {
  isEnabled(): boolean
  /** What the port is in, beside what it was told: pethPsePortDetectionStatus of RFC 3621. */
  becomes(detection: number, milliwatts: number): void
  close(): Promise<void>
}

const PORT_TABLE = '1.3.6.1.2.1.105.1.1.1'
export const MILLIWATTS = '1.3.6.1.4.1.8072.9999.1.0'
const INDEX = [1, 7]

/** As snmpd answers: nothing to a wrong community, a report to wrong keys, noAccess to who may only read. */
export function poeAgent(port: number): PoeAgent {
  const agent = snmp.createAgent(
    {
      port,
      address: '127.0.0.1',
      disableAuthorization: false,
      accessControlModelType: snmp.AccessControlModelType.Simple,
    },
    () => undefined,
  )
  const authorizer = agent.getAuthorizer()
  for (const community of ['switch-rw', 'switch-ro']) authorizer.addCommunity(community)
  authorizer.addUser({
    name: 'steeple',
    level: snmp.SecurityLevel.authPriv,
    ...{ authProtocol: snmp.AuthProtocols.sha256, authKey: 'authauthauth1' },
    ...{ privProtocol: snmp.PrivProtocols.aes, privKey: 'privprivpriv1' },
  })
  const access = authorizer.getAccessControlModel()
  access.setCommunityAccess('switch-rw', snmp.AccessLevel.ReadWrite)
  access.setCommunityAccess('switch-ro', snmp.AccessLevel.ReadOnly)
  access.setUserAccess('steeple', snmp.AccessLevel.ReadWrite)
  const integer = snmp.ObjectType.Integer
  const column = (number: number, name: string, access_: string) => ({
    ...{ number, name, type: integer },
    maxAccess: Reflect.get(snmp.MaxAccess, access_),
  })
  const mib = agent.getMib()
  mib.registerProvider({
    name: 'ports',
    type: snmp.MibProviderType.Table,
    oid: PORT_TABLE,
    maxAccess: snmp.MaxAccess['not-accessible'],
    tableColumns: [
      column(1, 'group', 'not-accessible'),
      column(2, 'port', 'not-accessible'),
      column(3, 'admin', 'read-write'),
      column(6, 'detection', 'read-only'),
    ],
    tableIndex: [{ columnName: 'group' }, { columnName: 'port' }],
  })
  mib.addTableRow('ports', [...INDEX, 2, 1])
  mib.registerProvider({
    ...{
      name: 'draws',
      type: snmp.MibProviderType.Scalar,
      oid: MILLIWATTS.slice(0, -2),
      scalarType: integer,
    },
    maxAccess: snmp.MaxAccess['read-only'],
  })
  mib.setScalarValue('draws', 0)
  return {
    isEnabled: () => mib.getTableSingleCell('ports', 3, INDEX) === 1,
    becomes: (detection, milliwatts) => {
      mib.setTableSingleCell('ports', 6, INDEX, detection)
      mib.setScalarValue('draws', milliwatts)
    },
    close: () => new Promise((resolve) => agent.close(() => resolve())),
  }
}

/** GenieACS' northbound interface over one device. */
export interface Acs {
  readonly url: string
  readonly device: string
  /** Whether the device comes when it is called. */
  isReachable: boolean
  isAdmin: boolean
  isSending: boolean
  /** EARFCNDL as the cell says it; undefined: it has no such parameter. */
  channel: number | string | undefined
  /** The fault that the cell has for each order. */
  fault: string | undefined
  /** Tasks that wait, by what they would set. */
  readonly waiting: readonly { readonly name: string; readonly value: unknown }[]
  readonly faults: readonly unknown[]
  /** Takes tasks and gives no answer while it does not. */
  answers: boolean
  /** The cell comes by itself, so much later. */
  comes(afterMs: number): void
  close(): Promise<void>
}

interface AcsTask {
  readonly _id: string
  readonly name: string
  readonly expiry?: string
  readonly uniqueKey?: string
  readonly parameterValues?: readonly (readonly [string, boolean, string])[]
}

/**
 * As GenieACS 1.3 answers: 200 when the device has done it, 202 with the task when it waits or the device refused it, 404 for a device that
 * it does not know. It keeps what it has read and set, and sends no order that agrees with that.
 */
export async function acsServer(): Promise<Acs> {
  const device = '202BC1-SmallCell-000000'
  let tasks: AcsTask[] = []
  let faults: { readonly _id: string; readonly code: string }[] = []
  let known: boolean | undefined
  let last = 0
  const control = 'Device.Services.FAPService.1.FAPControl.LTE'
  const document = () => {
    const value = (flag: boolean) => ({ _value: flag, _type: 'xsd:boolean' })
    const leaf = { AdminState: value(acs.isAdmin), RFTxStatus: value(acs.isSending) }
    const path: unknown = control.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), leaf)
    const rf = acs.channel === undefined ? {} : { RF: { EARFCNDL: { _value: acs.channel } } }
    const whole = { _id: device, ...Object(path) }
    whole.Device.Services.FAPService[1].CellConfig = { LTE: { RAN: rf } }
    return whole
  }
  /** The device does one task; false: it refuses it. */
  const does = ({ parameterValues }: AcsTask): boolean => {
    const [, value] = parameterValues?.[0] ?? []
    known = value === undefined ? acs.isAdmin : (known ?? acs.isAdmin)
    if (value === undefined || value === known) return true
    if (acs.fault !== undefined) return false
    acs.isAdmin = value
    acs.isSending = value
    known = value
    return true
  }
  const session = (now: number): void => {
    const due = tasks.filter(({ expiry }) => expiry === undefined || Date.parse(expiry) > now)
    tasks = due.filter((task) => !does(task))
    const refused = tasks.map(({ _id }) => ({ _id: `${device}:task_${_id}`, code: `cwmp.${acs.fault}` }))
    faults = [...faults.filter(({ _id }) => !refused.some((one) => one._id === _id)), ...refused]
  }
  const posted = (body: string, isCalled: boolean): Answer => {
    last += 1
    const task: AcsTask = { ...JSON.parse(body), _id: `task${last}` }
    tasks = [...tasks.filter(({ uniqueKey }) => uniqueKey !== task.uniqueKey), task]
    if (isCalled && acs.isReachable) session(Date.now())
    return { status: !isCalled || tasks.includes(task) ? 202 : 200, body: task }
  }
  const removed = (id: string): Answer => {
    tasks = tasks.filter(({ _id }) => _id !== id)
    faults = faults.filter(({ _id }) => !_id.endsWith(`:task_${id}`))
    return { status: 200 }
  }
  const found = (pathname: string, { _id: id }: { readonly _id: string }): Answer => {
    if (pathname === '/faults/') return { status: 200, body: faults.filter(({ _id }) => _id === id) }
    if (pathname === '/devices/') return { status: 200, body: id === device ? [document()] : [] }
    return { status: 404, body: 'No such device' }
  }
  const server = await httpServer(({ method, url: at = '' }, body) => {
    const { pathname, searchParams } = new URL(at, 'http://acs')
    if (method === 'GET') return found(pathname, JSON.parse(searchParams.get('query') ?? '{}'))
    if (method === 'DELETE') return removed(pathname.slice('/tasks/'.length))
    if (pathname !== `/devices/${device}/tasks`) return { status: 404, body: 'No such device' }
    const isCalled = searchParams.has('connection_request')
    const answer = posted(body, isCalled)
    return isCalled && !acs.answers ? undefined : answer
  })
  const acs: Acs = {
    ...{ url: server.url, device, isReachable: true, isAdmin: false, isSending: false, channel: undefined },
    ...{ fault: undefined, answers: true },
    get waiting() {
      return tasks
        .filter(({ name }) => name === 'setParameterValues')
        .map(({ name, parameterValues }) => ({ name, value: parameterValues?.[0]?.[1] }))
    },
    get faults() {
      return faults
    },
    comes: (afterMs) => session(Date.now() + afterMs),
    close: server.close,
  }
  return acs
}
