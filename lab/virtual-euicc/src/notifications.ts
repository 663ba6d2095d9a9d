import { child, type Tlv, tlv } from '@steeple/sgp22'
import { CommandError, STATUS } from './codes.ts'
import { signatureOf } from './ecc.ts'
import { eventBits, type Metadata, type NotifiedEvent } from './metadata.ts'
import { integerFrom, integerOctets } from './octets.ts'
import type { EuiccParts, KeptNotification } from './state.ts'

const NOTHING_TO_DELETE = 1

/** NotificationMetadata (BF2F) with the next number. SGP.22 §4.4.1. */
export function notificationMetadata(
  parts: EuiccParts,
  event: NotifiedEvent,
  address: string,
  iccid: Uint8Array | undefined,
): { readonly sequence: number; readonly metadata: Uint8Array } {
  const sequence = parts.memory.nextSequence++
  const metadata = tlv(
    0xbf2f,
    tlv(0x80, integerOctets(sequence)),
    tlv(0x81, eventBits(event)),
    tlv(0x0c, Buffer.from(address)),
    ...(iccid === undefined ? [] : [tlv(0x5a, iccid)]),
  )
  return { sequence, metadata }
}

/** Keeps a notification for each address that the profile wants to hear of this event. SGP.22 §3.5. */
export function notifyAll(parts: EuiccParts, profile: Metadata, event: NotifiedEvent): void {
  const [chain] = parts.chains
  if (chain === undefined) return
  for (const target of profile.targets) {
    if (!target.events.includes(event)) continue
    const { sequence, metadata } = notificationMetadata(parts, event, target.address, profile.iccidOctets)
    const signature = tlv(0x5f37, signatureOf(chain.euiccKey, metadata))
    const pending = tlv(0x30, metadata, signature, chain.euiccDer, chain.eumDer)
    keep(parts, { sequence, metadata, operation: eventBits(event)[1] ?? 0, address: target.address, pending })
  }
}

/** Keeps a notification until it is removed. */
export function keep(parts: EuiccParts, notification: KeptNotification): void {
  parts.memory.notifications.push(notification)
}

/** ListNotification (BF28). SGP.22 §5.7.9. */
export function listNotifications(parts: EuiccParts, request: Tlv): Uint8Array {
  const filter = child(request, 0x81)?.value[1]
  const listed = parts.memory.notifications.filter((one) => isOf(one, filter))
  return tlv(0xbf28, tlv(0xa0, ...listed.map((one) => one.metadata)))
}

/** RetrieveNotificationsList (BF2B). SGP.22 §5.7.10. */
export function retrieveNotifications(parts: EuiccParts, request: Tlv): Uint8Array {
  const criteria = child(request, 0xa0)
  const sequence = criteria === undefined ? undefined : integerFrom(child(criteria, 0x80)?.value)
  const filter = criteria === undefined ? undefined : child(criteria, 0x81)?.value[1]
  const found = parts.memory.notifications.filter(
    (one) => (sequence === undefined || one.sequence === sequence) && isOf(one, filter),
  )
  return tlv(0xbf2b, tlv(0xa0, ...found.map((one) => one.pending)))
}

/** NotificationSent (BF30): removes one. SGP.22 §5.7.11. */
export function removeNotification(parts: EuiccParts, request: Tlv): Uint8Array {
  const sequence = integerFrom(child(request, 0x80)?.value)
  if (sequence === undefined)
    throw new CommandError(STATUS.wrongData, 'NotificationSent names no notification')
  const { notifications } = parts.memory
  const at = notifications.findIndex((one) => one.sequence === sequence)
  if (at !== -1) notifications.splice(at, 1)
  return tlv(0xbf30, tlv(0x80, Uint8Array.of(at === -1 ? NOTHING_TO_DELETE : 0)))
}

function isOf(notification: KeptNotification, filter: number | undefined): boolean {
  return filter === undefined || (notification.operation & filter) !== 0
}
