import { t, word } from '../../text/index.ts'
import { mhzText, type Profile, spanText } from './spectrum.ts'

/** The carrier of a profile in MHz and channels. */
export function Carrier({ profile }: { readonly profile: Profile }) {
  const { downlink, uplink, technology, band, channel } = profile
  return (
    <dl class="facts">
      <dt>{t('radio.carrier.channel')}</dt>
      <dd>
        {word('radio.technology', technology)} {channel} {band === null ? '' : `(${band})`}
      </dd>
      <dt>{t('radio.carrier.down')}</dt>
      <dd>{downlink === null ? t('radio.carrier.unknown') : spanText(downlink)}</dd>
      <dt>{t('radio.carrier.up')}</dt>
      <dd>{uplink === null ? t('radio.carrier.none') : spanText(uplink)}</dd>
      <dt>{t('radio.carrier.width')}</dt>
      <dd>{mhzText(profile.bandwidth_mhz)}</dd>
      <dt>{t('radio.carrier.power')}</dt>
      <dd>{profile.eirp_dbm === null ? t('radio.carrier.power.none') : `${profile.eirp_dbm} dBm`}</dd>
    </dl>
  )
}
