/** One frame of an event stream that carries data. */
export interface Frame {
  readonly type: string
  readonly data: string
}

/** What has been read of a stream. Source: WHATWG HTML §9.2.6, interpretation of an event stream. */
export interface FrameReader {
  /** The frames that a further piece of text completes. Throws when a frame grows beyond all bounds. */
  take(text: string): readonly Frame[]
  /** The last id that was sent, of frames without data too; undefined before the first. */
  readonly lastId: () => string | undefined
  /** Ms that the server asks to wait before the stream is opened anew. */
  readonly retryMs: () => number | undefined
}

/** The service's frames have at most some kB. */
const LONGEST_FRAME = 4_194_304

/** Reads one connection from its beginning. */
export function frameReader(): FrameReader {
  let rest = ''
  let type = ''
  let data: string[] = []
  let id: string | undefined
  let lastId: string | undefined
  let retryMs: number | undefined

  const field = (name: string, value: string): void => {
    if (name === 'event') type = value
    else if (name === 'data') data.push(value)
    else if (name === 'id' && !value.includes('\0')) id = value
    else if (name === 'retry' && /^\d+$/.test(value)) retryMs = Number(value)
  }
  const complete = (): Frame | undefined => {
    const frame =
      data.length === 0 ? undefined : { type: type === '' ? 'message' : type, data: data.join('\n') }
    lastId = id ?? lastId
    type = ''
    data = []
    return frame
  }
  const line = (text: string): Frame | undefined => {
    if (text === '') return complete()
    const colon = text.indexOf(':')
    if (colon === -1) field(text, '')
    else if (colon > 0) field(text.slice(0, colon), text.slice(colon + 1).replace(/^ /, ''))
    return undefined
  }
  return {
    take: (text) => {
      rest += text
      if (rest.length > LONGEST_FRAME) throw new Error('a line of the event stream does not end')
      // A CR at the end may be the first half of a CRLF.
      const end = rest.endsWith('\r') ? rest.length - 1 : rest.length
      const lines = rest.slice(0, end).split(/\r\n|\r|\n/)
      rest = (lines.pop() ?? '') + rest.slice(end)
      return lines.flatMap((one) => line(one) ?? [])
    },
    lastId: () => lastId,
    retryMs: () => retryMs,
  }
}
