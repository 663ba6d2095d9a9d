import { isIPv4 } from 'node:net'
import { southboundUnavailable } from '@steeple/contracts'
import type { MeshView } from '../enroll/member-record.ts'
import { codeIn, fieldOf, type MeshAnswer } from './mesh-client.ts'

/** What a root gives a node that it lets in. */
export interface Enrolled {
  readonly certificatePem: string
  readonly caPem: string
  readonly meshName: string
  readonly rootNodeId: string
  readonly overlayAddress: string
}

/** What the root tells of the mesh, and the list that came with it. */
export interface News {
  readonly view: MeshView
  readonly crlPem: string | undefined
  /** Which list of the root the revision is of; undefined where it tells no changes. */
  readonly listId: string | undefined
}

/** Reads the answer of an enrollment. Throws `southbound_unavailable` with what the other one said instead. */
export function enrolledFrom(answer: MeshAnswer): Enrolled {
  if (answer.status !== 200) throw refusal(answer)
  const { body } = answer
  const mesh = fieldOf(body, 'mesh')
  return {
    certificatePem: textIn(body, 'certificate_pem'),
    caPem: textIn(body, 'ca_pem'),
    meshName: textIn(mesh, 'name'),
    rootNodeId: textIn(mesh, 'root_node_id'),
    overlayAddress: textIn(body, 'overlay_address'),
  }
}

/**
 * Reads the answer to a question for the members, after what is known: it may be what changed since. It comes from the root, which
 * this node believes; its form is checked.
 */
export function newsFrom(answer: MeshAnswer, known?: MeshView): News {
  if (answer.status !== 200) throw refusal(answer)
  const { body } = answer
  const members = fieldOf(body, 'members')
  const mesh = fieldOf(body, 'mesh')
  const revision = fieldOf(body, 'revision')
  if (!Array.isArray(members) || typeof revision !== 'number')
    throw southboundUnavailable('the root answered something else than its members')
  for (const member of members) {
    for (const name of ['node_id', 'name', 'overlay_address', 'joined_at']) textIn(member, name)
  }
  const subnet = textIn(body, 'subnet')
  // Of one that a root may have (`peering.subnet`). Members of before it was changed are in another.
  const isNetwork = /^[\d.]+\/([89]|[12]\d)$/.test(subnet) && isIPv4(subnet.replace(/\/.*/, ''))
  if (!isNetwork || !members.every((member) => isIPv4(textIn(member, 'overlay_address'))))
    throw southboundUnavailable('the root answered with addresses that are none of an overlay')
  const crlPem = fieldOf(body, 'crl_pem')
  const listId = fieldOf(body, 'list')
  return {
    view: {
      mesh: { name: textIn(mesh, 'name'), root_node_id: textIn(mesh, 'root_node_id') },
      subnet,
      revision,
      // Checked above as far as this node goes by it.
      members: merged(body, members as MeshView['members'], known),
    },
    crlPem: typeof crlPem === 'string' ? crlPem : undefined,
    listId: typeof listId === 'string' ? listId : undefined,
  }
}

/** All members: those that were told, after those that are known where only changes were. */
function merged(body: unknown, told: MeshView['members'], known: MeshView | undefined): MeshView['members'] {
  const since = fieldOf(body, 'since') ?? null
  if (since === null) return told
  const gone = fieldOf(body, 'gone')
  if (known === undefined || since !== known.revision || !Array.isArray(gone))
    throw southboundUnavailable('the root answered with changes of another list than this node has')
  const all = new Map(known.members.map((one) => [one.node_id, one]))
  for (const id of gone) all.delete(id)
  for (const one of told) all.set(one.node_id, one)
  return [...all.values()]
}

/** What the other box said, as an error of this one. */
export function refusal({ status, body }: MeshAnswer): Error {
  const message = fieldOf(fieldOf(body, 'error'), 'message')
  const said = typeof message === 'string' ? message.slice(0, 500) : 'nothing that can be read'
  return southboundUnavailable(`it answered ${status} ${codeIn(body)}: ${said}`)
}

function textIn(value: unknown, name: string): string {
  const text = fieldOf(value, name)
  if (typeof text !== 'string' || text.length > 65_536)
    throw southboundUnavailable(`the root answered without ${name}`)
  return text
}
