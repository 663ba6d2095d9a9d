import type { HttpEdge } from '../plugins/edge.ts'

/** An edge whose real one is attached later: the edge needs the kernel and the kernel's registry needs an edge. */
export function forwardingEdge(): { readonly edge: Required<HttpEdge>; attach(edge: HttpEdge): void } {
  let attached: HttpEdge | undefined
  const real = (): HttpEdge => {
    if (attached === undefined) throw new TypeError('no edge is attached to the kernel')
    return attached
  }
  return {
    edge: {
      build: (sets) => real().build(sets),
      swap: (next) => real().swap(next),
      metricsText: () => attached?.metricsText?.() ?? '',
    },
    attach: (edge) => {
      attached = edge
    },
  }
}
