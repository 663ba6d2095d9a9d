import {
  type AnswerOf,
  Card,
  ErrorNotice,
  Facts,
  Lamp,
  Said,
  SetButton,
  t,
  useQuery,
  word,
} from '@steeple/console/kit'

/** What is plugged in tells of itself by no event. */
const LOOK_MS = 10_000

type Found = AnswerOf<'GET', '/v1/tx/devices'>
type Device = Found['devices'][number]

/** The software radios and programs of this machine, what is missing, and which of them the box uses. */
export function Panel() {
  const query = useQuery('/v1/tx/devices', {}, { on: ['settings.*', 'plugin.*'], everyMs: LOOK_MS })
  const { data, error } = query
  if (error !== undefined) return <ErrorNotice error={error} onRetry={query.reload} />
  if (data === undefined) return null
  return (
    <Card title={t('radio.found')}>
      {data.devices.length > 0 ? null : <p>{t(data.usb ? 'radio.found.none' : 'radio.found.noUsb')}</p>}
      {data.devices.map((device) => (
        <section key={device.port} aria-label={device.name}>
          <h3>{device.name}</h3>
          <p class="fine">{t('radio.found.port', { port: device.port })}</p>
          <Verdict device={device} />
          {device.in_use ? null : (
            <div class="toolbar">
              {device.choices.map(({ program, settings }) => (
                <SetButton
                  key={program}
                  settings={settings}
                  label={t('radio.found.use.of', {
                    name: device.name,
                    program: word('radio.found.program', program),
                  })}
                >
                  {t('radio.found.use', { program: word('radio.found.program', program) })}
                </SetButton>
              ))}
            </div>
          )}
        </section>
      ))}
      <h3>{t('radio.found.programs')}</h3>
      <Facts
        facts={data.programs.map(({ program, path }) => [
          word('radio.found.program', program),
          path ?? t('radio.found.program.none'),
        ])}
      />
      <p class="fine">{t('radio.found.fixed')}</p>
      {data.hints.length === 0 ? null : (
        <>
          <h3>{t('radio.found.hints')}</h3>
          <ul class="reasons">
            {data.hints.map((hint) => (
              <li key={hint}>
                <Said>{plainFirst(hint)}</Said>
              </li>
            ))}
          </ul>
        </>
      )}
    </Card>
  )
}

/** `no_sctp: the kernel …`: what it is, then the word for programs. */
function plainFirst(hint: string): string {
  return hint.replace(/^([a-z_]+): (.*)$/s, '$2 ($1)')
}

function Verdict({ device: { problems, in_use } }: { readonly device: Device }) {
  if (problems.length === 0)
    return (
      <p>
        <Lamp tone="ok" label={t(in_use ? 'radio.found.used' : 'radio.found.ready')} />
      </p>
    )
  return (
    <ul class="reasons">
      {problems.map(({ code }) => (
        <li key={code}>
          <Lamp tone="warn" label={word('radio.found.problem', code)} />
        </li>
      ))}
    </ul>
  )
}
