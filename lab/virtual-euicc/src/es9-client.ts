/** Carries one request to an SM-DP+; given by the caller, so that TLS, or none, is the caller's. */
export type Es9Transport = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
) => Promise<Es9Answer>

interface Es9Answer {
  readonly status: number
  readonly contentType: string | undefined
  readonly body: string
}

/** What an SM-DP+ refused, with its codes. SGP.22 §5.2.6.2. */
export class Es9Refused extends Error {
  readonly call: string
  readonly subjectCode: string
  readonly reasonCode: string

  constructor(call: string, subjectCode: string, reasonCode: string, message: string | undefined) {
    super(`${call} was refused: ${subjectCode}/${reasonCode}${message === undefined ? '' : ` ${message}`}`)
    this.name = 'Es9Refused'
    this.call = call
    this.subjectCode = subjectCode
    this.reasonCode = reasonCode
  }
}

/** An answer that is not ES9+. */
export class Es9Error extends Error {}

export interface Es9Client {
  /** Calls a function. Throws `Es9Refused`, `Es9Error`, and what the transport throws. SGP.22 §6.5.2. */
  call(name: string, request: Readonly<Record<string, string>>): Promise<Readonly<Record<string, unknown>>>
  /** Delivers a notification; 204 is the only good answer. SGP.22 §6.4.1. */
  notify(pendingNotification: Uint8Array): Promise<void>
}

const PATH = '/gsma/rsp2/es9plus/'
/** As LPAs send them. SGP.22 §6.5.1. */
const HEADERS = {
  'user-agent': 'gsma-rsp-lpad',
  'x-admin-protocol': 'gsma/rsp/v2.2.2',
  'content-type': 'application/json',
} as const
const ANSWER_MS = 30_000

/** Sends with the `fetch` of Node. */
export const fetchTransport: Es9Transport = async (url, headers, body) => {
  const answer = await fetch(url, {
    method: 'POST',
    headers,
    body,
    redirect: 'error',
    signal: AbortSignal.timeout(ANSWER_MS),
  })
  return {
    status: answer.status,
    contentType: answer.headers.get('content-type') ?? undefined,
    body: await answer.text(),
  }
}

/** A client of the SM-DP+ at `baseUrl` (`https://host[:port]`, without a path). */
export function es9Client(baseUrl: string, transport: Es9Transport): Es9Client {
  const base = baseUrl.replace(/\/+$/, '')
  const post = (name: string, request: unknown): Promise<Es9Answer> =>
    transport(`${base}${PATH}${name}`, HEADERS, JSON.stringify(request))
  return {
    call: async (name, request) => {
      const answer = await post(name, request)
      if (answer.status !== 200) throw new Es9Error(`${name} was answered with HTTP ${answer.status}`)
      if (answer.contentType?.startsWith('application/json') !== true)
        throw new Es9Error(`${name} was not answered with application/json`)
      return executed(name, parsed(name, answer.body))
    },
    notify: async (pendingNotification) => {
      const answer = await post('handleNotification', {
        pendingNotification: Buffer.from(pendingNotification).toString('base64'),
      })
      if (answer.status !== 204 || answer.body !== '')
        throw new Es9Error(
          `handleNotification was answered with HTTP ${answer.status}, expected an empty 204`,
        )
    },
  }
}

/** A member that must be base64 of something. Throws `Es9Error`. */
export function octetsOf(answer: Readonly<Record<string, unknown>>, name: string): Uint8Array {
  const text = answer[name]
  const isBase64 =
    typeof text === 'string' && /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)
  if (!isBase64) throw new Es9Error(`${name} is no base64`)
  return Uint8Array.from(Buffer.from(text, 'base64'))
}

function parsed(name: string, body: string): Readonly<Record<string, unknown>> {
  try {
    const read: unknown = JSON.parse(body)
    if (typeof read === 'object' && read !== null && !Array.isArray(read))
      return read as Readonly<Record<string, unknown>> // each member is checked where it is used
  } catch (cause) {
    throw new Es9Error(`${name} was answered with no JSON`, { cause })
  }
  throw new Es9Error(`${name} was answered with no JSON object`)
}

interface ExecutionStatus {
  readonly status?: unknown
  readonly statusCodeData?: {
    readonly subjectCode?: unknown
    readonly reasonCode?: unknown
    readonly message?: unknown
  }
}

function executed(
  name: string,
  answer: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const header = answer.header as { readonly functionExecutionStatus?: ExecutionStatus } | undefined
  const status = header?.functionExecutionStatus
  if (status?.status === 'Executed-Success' || status?.status === 'Executed-WithWarning') return answer
  const { subjectCode, reasonCode, message } = status?.statusCodeData ?? {}
  if (typeof subjectCode !== 'string' || typeof reasonCode !== 'string')
    throw new Es9Error(`${name} was answered without a status`)
  throw new Es9Refused(name, subjectCode, reasonCode, typeof message === 'string' ? message : undefined)
}
