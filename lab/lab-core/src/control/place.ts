import type { LabClock } from '../clock.ts'
import type { Esims } from '../esim/esims.ts'
import type { GtpuPath } from '../gtpu/path.ts'
import type { Traffic } from '../gtpu/traffic.ts'
import type { Mme } from '../mme/mme.ts'
import type { Fleet } from '../phones/fleet.ts'

/** A request of the control API, already found to be none of a web page. */
export interface ControlRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly body: string
}

export interface ControlAnswer {
  readonly status: number
  readonly body: unknown
}

/** What the control API works on. */
export interface ControlPlace {
  readonly fleet: Fleet
  readonly mme: Mme
  readonly traffic: Traffic
  readonly path: GtpuPath
  readonly clock: LabClock
  readonly esims: Esims
}

/** A request that cannot be done. */
export class ControlError extends Error {
  readonly status: number
  constructor(message: string, options: { readonly status: number; readonly cause?: unknown }) {
    super(message, options)
    this.status = options.status
  }
}

/** What a body in JSON holds; each part is checked by who takes it. Throws `ControlError`. */
export function askedIn<Asked extends object>(body: string): Asked {
  try {
    return (JSON.parse(body) ?? {}) as Asked // all parts are unknown and optional
  } catch (cause) {
    throw new ControlError('the body is no JSON', { status: 400, cause })
  }
}

/** A path that there is not. */
export function unknownPath(): ControlError {
  return new ControlError('no such path; GET / says which there are', { status: 404 })
}
