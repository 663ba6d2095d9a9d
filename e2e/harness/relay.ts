import { startTcpProxy } from './tcp-proxy.ts'

/** An address that stays while the service behind it comes and goes, and whose connections can be cut. */
export interface Relay {
  readonly url: string
  /** Where further connections go; undefined hangs up on them. */
  target(url: string | undefined): void
  /** Ends every connection at once, without a word. */
  cut(): void
  close(): Promise<void>
}

/** Starts it on a free port of loopback, with nothing behind it yet. */
export async function startRelay(): Promise<Relay> {
  let port: number | undefined
  const proxy = await startTcpProxy(() => port)
  return {
    url: `http://127.0.0.1:${proxy.port}`,
    target: (url) => {
      port = url === undefined ? undefined : Number(new URL(url).port)
    },
    cut: proxy.cut,
    close: proxy.close,
  }
}
