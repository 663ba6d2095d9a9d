import type { CallOptions, PathOf, RequestOf, Result } from '@steeple/client'
import { api } from './client.ts'

/** What a download may say beside its path. */
export interface DownloadOptions extends CallOptions {
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  /** Told how many octets have come. */
  readonly onProgress?: (bytes: number) => void
}

export interface Downloaded {
  readonly name: string
  readonly bytes: number
}

/** Takes the file that a GET answers and gives it to the person under the name that it has. Gives why not. */
export async function download<P extends PathOf<'GET'>>(
  path: P,
  { onProgress, ...options }: DownloadOptions = {},
): Promise<Result<Downloaded>> {
  // The operations that answer files take what they take as `options` say.
  const opened = await (api.open as unknown as OpenAny)(path, options as RequestOf<'GET', P>)
  if (!opened.ok) return opened
  const { headers, body } = opened.data
  const name = /filename="([^"]+)"/.exec(headers.get('content-disposition') ?? '')?.[1] ?? 'download'
  try {
    const blob = await gathered(body, headers.get('content-type') ?? '', onProgress)
    saveFile(name, blob, blob.type)
    return { ...opened, data: { name, bytes: blob.size } }
  } catch (cause) {
    return {
      ok: false,
      error: {
        code: 'connection_lost',
        message: `no whole answer: ${cause instanceof Error ? cause.message : String(cause)}`,
        details: [],
        status: opened.status,
        requestId: opened.requestId,
        retryAfterS: undefined,
      },
    }
  }
}

type OpenAny = (path: string, options: object) => Promise<Result<Response>>

async function gathered(
  body: ReadableStream<Uint8Array<ArrayBuffer>> | null,
  type: string,
  onProgress: DownloadOptions['onProgress'],
): Promise<Blob> {
  const pieces: Uint8Array<ArrayBuffer>[] = []
  let bytes = 0
  const reader = body?.getReader()
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done || value === undefined) return new Blob(pieces, { type })
    pieces.push(value)
    bytes += value.length
    onProgress?.(bytes)
  }
}

/** Has the browser save a text, or what has come, as a file. */
export function saveFile(name: string, content: BlobPart, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
