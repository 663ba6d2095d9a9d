import { child, type Tlv, tlv } from '@steeple/sgp22'
import { CommandError, PROFILE_RESULT, STATUS } from './codes.ts'
import { readMetadata } from './metadata.ts'
import { notifyAll } from './notifications.ts'
import { isSame, utf8From } from './octets.ts'
import { type ProfileContent, readProfilePackage } from './profile-package.ts'
import type { EuiccParts, KeptProfile } from './state.ts'

/** A profile on the eUICC, with what its package holds: keys too. */
export interface InstalledProfile extends ProfileContent {
  /** 16 octets, hexadecimal. */
  readonly isdpAid: string
  readonly isEnabled: boolean
  readonly name: string
  readonly provider: string
  readonly nickname: string | undefined
  readonly profileClass: number
  readonly smdpAddress: string
}

/** Octets of a nickname. SGP.22 §5.7.21. */
const NICKNAME_OCTETS = 64

/** The profiles, the first installed first. */
export function installedProfiles(parts: EuiccParts): readonly InstalledProfile[] {
  return parts.memory.profiles.map((profile) => {
    const { name, provider, profileClass } = readMetadata(profile.metadata)
    return {
      ...readProfilePackage(profile.package),
      isdpAid: Buffer.from(profile.isdpAid).toString('hex'),
      isEnabled: profile.isEnabled,
      name,
      provider,
      nickname: profile.nickname,
      profileClass,
      smdpAddress: profile.smdpAddress,
    }
  })
}

/** GetProfilesInfo (BF2D). The tag list is not followed: each profile is shown with all. SGP.22 §5.7.15. */
export function profilesInfo(parts: EuiccParts, request: Tlv): Uint8Array {
  const criteria = child(request, 0xa0)
  const shown =
    criteria === undefined
      ? parts.memory.profiles
      : parts.memory.profiles.filter((one) => isNamed(one, criteria))
  return tlv(0xbf2d, tlv(0xa0, ...shown.map(profileInfo)))
}

/** EnableProfile (BF31): disables the one that is enabled. SGP.22 §5.7.16. */
export function enableProfile(parts: EuiccParts, request: Tlv): Uint8Array {
  const profile = named(parts, child(request, 0xa0))
  if (profile === undefined) return result(0xbf31, PROFILE_RESULT.notFound)
  if (profile.isEnabled) return result(0xbf31, PROFILE_RESULT.wrongState)
  const before = parts.memory.profiles.find((one) => one.isEnabled)
  if (before !== undefined) {
    before.isEnabled = false
    notifyAll(parts, readMetadata(before.metadata), 'disable')
  }
  profile.isEnabled = true
  notifyAll(parts, readMetadata(profile.metadata), 'enable')
  return result(0xbf31, PROFILE_RESULT.ok)
}

/** DisableProfile (BF32). SGP.22 §5.7.17. */
export function disableProfile(parts: EuiccParts, request: Tlv): Uint8Array {
  const profile = named(parts, child(request, 0xa0))
  if (profile === undefined) return result(0xbf32, PROFILE_RESULT.notFound)
  if (!profile.isEnabled) return result(0xbf32, PROFILE_RESULT.wrongState)
  profile.isEnabled = false
  notifyAll(parts, readMetadata(profile.metadata), 'disable')
  return result(0xbf32, PROFILE_RESULT.ok)
}

/** DeleteProfile (BF33): one that is disabled. SGP.22 §5.7.18. */
export function deleteProfile(parts: EuiccParts, request: Tlv): Uint8Array {
  const profile = named(parts, request)
  if (profile === undefined) return result(0xbf33, PROFILE_RESULT.notFound)
  if (profile.isEnabled) return result(0xbf33, PROFILE_RESULT.wrongState)
  parts.memory.profiles.splice(parts.memory.profiles.indexOf(profile), 1)
  notifyAll(parts, readMetadata(profile.metadata), 'delete')
  return result(0xbf33, PROFILE_RESULT.ok)
}

/** SetNickname (BF29). SGP.22 §5.7.21. */
export function setNickname(parts: EuiccParts, request: Tlv): Uint8Array {
  const profile = named(parts, request)
  const nickname = utf8From(child(request, 0x90)?.value ?? new Uint8Array(), NICKNAME_OCTETS)
  if (nickname === undefined) throw new CommandError(STATUS.wrongData, 'the nickname is no text of 64 octets')
  if (profile === undefined) return result(0xbf29, PROFILE_RESULT.notFound)
  profile.nickname = nickname === '' ? undefined : nickname
  return result(0xbf29, PROFILE_RESULT.ok)
}

function profileInfo(profile: KeptProfile): Uint8Array {
  const { iccidOctets, provider, name, profileClass } = readMetadata(profile.metadata)
  return tlv(
    0xe3,
    tlv(0x5a, iccidOctets),
    tlv(0x4f, profile.isdpAid),
    tlv(0x9f70, Uint8Array.of(profile.isEnabled ? 1 : 0)),
    ...(profile.nickname === undefined ? [] : [tlv(0x90, Buffer.from(profile.nickname))]),
    tlv(0x91, Buffer.from(provider)),
    tlv(0x92, Buffer.from(name)),
    tlv(0x95, Uint8Array.of(profileClass)),
  )
}

function named(parts: EuiccParts, criteria: Tlv | undefined): KeptProfile | undefined {
  const names = criteria?.children().some(({ tag }) => tag === 0x5a || tag === 0x4f)
  if (criteria === undefined || names !== true)
    throw new CommandError(STATUS.wrongData, 'the command names no profile')
  return parts.memory.profiles.find((one) => isNamed(one, criteria))
}

function isNamed(profile: KeptProfile, criteria: Tlv): boolean {
  const iccid = child(criteria, 0x5a)?.value
  if (iccid !== undefined) return isSame(iccid, readMetadata(profile.metadata).iccidOctets)
  const aid = child(criteria, 0x4f)?.value
  return aid === undefined || isSame(aid, profile.isdpAid)
}

function result(tag: number, code: number): Uint8Array {
  return tlv(tag, tlv(0x80, Uint8Array.of(code)))
}
