import { connect, createServer, type Server, type Socket } from 'node:net'

/** A way to a port that can be cut: what goes in does not come out, and nobody is told. */
export interface Cuttable {
  readonly port: number
  cut(): void
  mend(): void
  end(): void
}

/** A proxy on a free port of the loopback to `target`. */
export async function cuttableTo(target: number): Promise<Cuttable> {
  const pairs = new Set<readonly [Socket, Socket]>()
  let isCut = false
  const join = (from: Socket, to: Socket): void => {
    from.on('data', (chunk) => {
      // As on a wire that is cut: it is gone for good.
      if (!isCut) to.write(chunk)
    })
    from.on('error', () => to.destroy())
    from.on('close', () => to.destroy())
  }
  const server: Server = createServer((inner) => {
    const outer = connect(target, '127.0.0.1')
    const pair = [inner, outer] as const
    pairs.add(pair)
    inner.on('close', () => pairs.delete(pair))
    join(inner, outer)
    join(outer, inner)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    cut: () => {
      isCut = true
    },
    mend: () => {
      isCut = false
      // Bytes were lost: what is left of those connections is of no use to anybody.
      for (const [inner, outer] of pairs) {
        inner.destroy()
        outer.destroy()
      }
    },
    end: () => {
      server.close()
      for (const [inner, outer] of pairs) {
        inner.destroy()
        outer.destroy()
      }
    },
  }
}
