import { Button, ButtonLink, navigate, t } from '@steeple/console/kit'

/** Offers an eSIM where cards were issued, as a batch, and where one SIM is replaced. */
export function Panel({
  batch,
  replaces,
  onLeave,
}: {
  readonly batch?: string
  readonly replaces?: string
  readonly onLeave?: () => void
}) {
  if (replaces !== undefined)
    return (
      <p>
        <ButtonLink href={`/esim?do=issue&replaces=${replaces}`}>{t('sim.replace.esim')}</ButtonLink>
      </p>
    )
  const go = (): void => {
    onLeave?.()
    navigate(`/esim?do=issue&batch=${batch}`)
  }
  return <Button onClick={go}>{t('sims.issued.esim')}</Button>
}
