import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import snmp from 'net-snmp'

interface Answer {
  readonly status: number
  readonly body?: unknown
}

/** An HTTP server on loopback. */
export async function httpServer(
  answer: (request: IncomingMessage, body: string) => Answer,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { status, body: said } = answer(request, body)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof said === 'string' ? said : JSON.stringify(said ?? {}))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
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
  /** Tasks that wait, by what they would set. */
  readonly waiting: readonly { readonly name: string; readonly value: unknown }[]
  close(): Promise<void>
}

interface AcsTask {
  readonly _id: string
  readonly name: string
  readonly uniqueKey?: string
  readonly parameterValues?: readonly (readonly [string, boolean, string])[]
}

/** As GenieACS answers: 200 when the device has done it, 202 with the task when it waits, 404 for a device that it does not know. */
export async function acsServer(): Promise<Acs> {
  const device = '202BC1-SmallCell-000000'
  let tasks: AcsTask[] = []
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
  const posted = (body: string): Answer => {
    last += 1
    const task: AcsTask = { ...JSON.parse(body), _id: `task${last}` }
    if (!acs.isReachable) {
      tasks = [...tasks.filter(({ uniqueKey }) => uniqueKey !== task.uniqueKey), task]
      return { status: 202, body: task }
    }
    const [, value] = task.parameterValues?.[0] ?? []
    if (value !== undefined) {
      acs.isAdmin = value
      acs.isSending = value
    }
    return { status: 200, body: task }
  }
  const server = await httpServer((request, body) => {
    const url = new URL(request.url ?? '/', 'http://acs')
    if (url.pathname === `/devices/${device}/tasks` && request.method === 'POST') return posted(body)
    if (url.pathname.startsWith('/tasks/') && request.method === 'DELETE') {
      tasks = tasks.filter(({ _id }) => `/tasks/${_id}` !== url.pathname)
      return { status: 200 }
    }
    if (url.pathname === '/devices/') return { status: 200, body: [document()] }
    return { status: 404, body: 'No such device' }
  })
  const acs: Acs = {
    ...{ url: server.url, device, isReachable: true, isAdmin: false, isSending: false, channel: undefined },
    get waiting() {
      return tasks.map(({ name, parameterValues }) => ({ name, value: parameterValues?.[0]?.[1] }))
    },
    close: server.close,
  }
  return acs
}
