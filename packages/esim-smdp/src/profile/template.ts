import type { ProfileFacts, ProfileTemplate, ProfileVersion } from '../parts.ts'
import { plmnOf } from './coding.ts'
import { withIms } from './isim.ts'
import { lean, without5g } from './lean.ts'
import { withOwnKeys } from './own-keys.ts'
import { type ProfileElement, readElements } from './read.ts'
import { neededCapabilities, versionOf } from './services.ts'
import {
  type Step,
  withCodes,
  withIccid,
  withImsi,
  withKeys,
  withNetwork,
  withOperation,
  withProvider,
} from './steps.ts'
import { withNumber, withSuci } from './subscription.ts'
import { type Piece, settled, written } from './tree.ts'
import { validate } from './validate.ts'

/** Who the SIM is and with what it proves it: what other tools that personalise write as well. */
export const IDENTITY: readonly Step[] = [withIccid, withImsi, withKeys, withCodes]
/** What is alike in all profiles of one network: it needs the network's code, the provider's name and its public keys. */
const NETWORK: readonly Step[] = [withProvider, withOperation, withNetwork, withSuci]
/** What is left then. */
const SIM: readonly Step[] = [...IDENTITY, withNumber, withIms, withOwnKeys]
/** Networks whose elements are remembered. */
const MOST_NETWORKS = 16

/** The one for an eUICC that takes profiles up to that version; undefined when it takes none of this template. */
export function templateFor(
  template: ProfileTemplate,
  version: ProfileVersion | undefined,
): ProfileTemplate | undefined {
  const [major, minor] = template.version ?? [0, 0]
  const takes = version === undefined || version[0] > major || (version[0] === major && version[1] >= minor)
  return takes ? template : template.earlier && templateFor(template.earlier, version)
}

/**
 * A template that profiles are made from. Throws `TemplateError` for a file that is no profile or lacks what is written
 * into it. TCA "eUICC Profile Package: Interoperable Format Technical Specification".
 */
export function loadTemplate(octets: Uint8Array): ProfileTemplate {
  return templateOf(readElements(Uint8Array.from(octets)))
}

/** The same without what `lean` leaves out. */
export function loadLeanTemplate(octets: Uint8Array): ProfileTemplate {
  const elements = lean(readElements(Uint8Array.from(octets)))
  return { ...templateOf(elements), earlier: templateOf(without5g(elements)) }
}

function templateOf(elements: readonly ProfileElement[]): ProfileTemplate {
  validate(elements)
  const pieces = elements.map(({ piece }) => piece)
  const networks = new Map<string, readonly Piece[]>()
  const ofNetwork = (facts: ProfileFacts): readonly Piece[] => {
    const { mcc, mnc } = plmnOf(facts.imsi, facts.mncLength)
    const name = `${mcc}-${mnc} ${Buffer.from(facts.suci ?? []).toString('hex')} ${facts.spn}`
    const known = networks.get(name)
    if (known !== undefined) return known
    const made = NETWORK.reduce<readonly Piece[]>(
      (all, step) => step(all, facts, (octets) => octets),
      pieces,
    ).map(settled)
    if (networks.size >= MOST_NETWORKS) networks.clear()
    networks.set(name, made)
    return made
  }
  return {
    personalise: (facts) => personalised(ofNetwork(facts), facts, SIM),
    needs: neededCapabilities(elements),
    version: versionOf(elements),
  }
}

/** The elements with the facts in them, by these steps, as octets. Throws `RangeError` for facts that are none. */
export function personalised(
  elements: readonly Piece[],
  facts: ProfileFacts,
  steps: readonly Step[],
): Uint8Array {
  const copies: Uint8Array[] = []
  const keep = (octets: Uint8Array): Uint8Array => {
    copies.push(octets)
    return octets
  }
  try {
    return written(steps.reduce((pieces, step) => step(pieces, facts, keep), elements))
  } finally {
    for (const copy of copies) copy.fill(0)
  }
}
