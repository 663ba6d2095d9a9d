import type { FoundSlice, SubscriberFound } from '@steeple/contracts'

/** What `now` holds of a subscriber otherwise than `before` did, by name: never a value but names of slices and APNs. */
export function otherwise(before: SubscriberFound, now: SubscriberFound): readonly string[] {
  const one = (name: string, isSame: boolean): readonly string[] => (isSame ? [] : [name])
  return [
    ...one('MSISDN', before.msisdn === undefined || before.msisdn === now.msisdn),
    ...one('AMBR', before.ambrBps === undefined || isSameRate(before.ambrBps, now.ambrBps)),
    ...one('AMF', before.amf === undefined || before.amf === now.amf),
    ...one('blocked state', before.isBlocked === now.isBlocked),
    // It goes on behind the one that was found.
    ...one('SQN', (now.sqn ?? 0n) >= (before.sqn ?? 0n)),
    ...before.slices.flatMap((slice) => slicesOtherwise(slice, now.slices)),
  ]
}

function slicesOtherwise(before: FoundSlice, all: readonly FoundSlice[]): readonly string[] {
  const name = before.sd === undefined ? `slice ${before.sst}` : `slice ${before.sst}-${before.sd}`
  const its = all.filter(
    ({ sst, sd }) => sst === before.sst && sd?.toLowerCase() === before.sd?.toLowerCase(),
  )
  if (its.length === 0) return [name]
  return before.apns.flatMap((apn) => {
    const held = its.flatMap(({ apns }) => apns).filter((one) => one.name === apn.name)
    return held.some((one) => isSameApn(apn, one)) ? [] : [`APN ${apn.name} of ${name}`]
  })
}

type FoundApn = FoundSlice['apns'][number]

function isSameApn(before: FoundApn, now: FoundApn): boolean {
  return (
    (before.ambrBps === undefined || isSameRate(before.ambrBps, now.ambrBps)) &&
    (before.qos === undefined || before.qos === now.qos) &&
    before.addresses.toSorted().join() === now.addresses.toSorted().join()
  )
}

/** Cores round: to a number of 16 bits, or of 32. */
function isSameRate(before: Rate, now: Rate): boolean {
  if (before === undefined || now === undefined) return before === now
  return isNear(before.up, now.up) && isNear(before.down, now.down)
}

type Rate = SubscriberFound['ambrBps']

function isNear(before: number, now: number): boolean {
  return Math.abs(before - now) <= before / 1_000
}
