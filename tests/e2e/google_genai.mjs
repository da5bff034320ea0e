// The vendor's Node library talks to the simulator, and sends the same messages as our own client.
//
//   recount simulate --script fixtures/scripts/foreign.jsonl
//   node google_genai.mjs --url ws://127.0.0.1:PORT [--frames RECORDING]
//
// Run it from a directory whose node_modules contain @google/genai; it installs nothing. It talks
// once as with a gateway (Vertex mode, custom base URL) and once as with Google AI (API key).
//
// RECORDING is the output of `recount simulate --record` during a conversation of our own client.
// The library has no types at run time. So each recorded message is passed to the library as its
// parameters, and the library must send the same message. On any mismatch the program prints the
// reason and exits with 1.

import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {parseArgs} from 'node:util';
import {pathToFileURL} from 'node:url';

// Modules are resolved from the working directory, not from the directory of this file.
const require = createRequire(pathToFileURL(`${process.cwd()}/`));
const {GoogleGenAI, Modality} = require('@google/genai');
const {WebSocketServer} = createRequire(require.resolve('@google/genai'))('ws');

const MODEL = 'gemini-live-test';
const TIMEOUT_MS = 60_000;

const declaration = (name, properties) => ({
  name,
  description: `Does ${name}.`,
  parameters: {
    type: 'OBJECT',
    properties: Object.fromEntries(Object.entries(properties).map(([key, type]) => [key, {type}])),
  },
});

const TOOLS = [
  {
    functionDeclarations: [
      declaration('get_weather', {city: 'STRING', days: 'INTEGER'}),
      {...declaration('get_time', {time_zone: 'STRING'}), behavior: 'NON_BLOCKING'},
    ],
  },
];

const CONFIG = {responseModalities: [Modality.TEXT], systemInstruction: 'Be brief.', tools: TOOLS};

// Setups that the service accepts.
const SETUPS = {
  minimal: {},
  generation: {
    responseModalities: [Modality.AUDIO],
    temperature: 0.5,
    topP: 0.9,
    topK: 40,
    maxOutputTokens: 100,
    seed: 7,
    mediaResolution: 'MEDIA_RESOLUTION_LOW',
    enableAffectiveDialog: true,
    thinkingConfig: {thinkingBudget: 0, includeThoughts: true},
    speechConfig: {languageCode: 'en-US', voiceConfig: {prebuiltVoiceConfig: {voiceName: 'Kore'}}},
  },
  'built-in tools': {tools: [{googleSearch: {}, codeExecution: {}}, {urlContext: {}}]},
  resumption: {sessionResumption: {}},
  compression: {
    contextWindowCompression: {triggerTokens: '25600', slidingWindow: {targetTokens: '12800'}},
  },
  transcription: {inputAudioTranscription: {}, outputAudioTranscription: {}},
  activity: {
    realtimeInputConfig: {
      automaticActivityDetection: {disabled: false, prefixPaddingMs: 20, silenceDurationMs: 100},
      activityHandling: 'NO_INTERRUPTION',
      turnCoverage: 'TURN_INCLUDES_ALL_INPUT',
    },
  },
  proactivity: {proactivity: {proactiveAudio: true}},
};

// A session whose messages can be awaited one by one.
class Conversation {
  messages = [];
  waiting = [];
  ended = null;

  static async open(ai, config, model = MODEL) {
    const conversation = new Conversation();
    const closed = new Promise((resolve) => {
      conversation.closed = resolve;
    });
    const connecting = ai.live.connect({
      model,
      config,
      callbacks: {
        onmessage: (message) => conversation.hear({message}),
        onerror: () => {},
        onclose: ({code, reason}) => {
          conversation.ended = {code, reason: String(reason)};
          conversation.hear(conversation.ended);
          conversation.closed();
        },
      },
    });
    // If the service closes before the setup is complete, the promise of the library never settles.
    conversation.session = await Promise.race([connecting, closed]);
    return conversation;
  }

  hear(what) {
    const next = this.waiting.shift();
    if (next) next(what);
    else this.messages.push(what);
  }

  next() {
    return this.messages.length > 0
      ? Promise.resolve(this.messages.shift())
      : new Promise((resolve) => this.waiting.push(resolve));
  }

  say(text) {
    this.session.sendClientContent({turns: [{role: 'user', parts: [{text}]}]});
  }

  // Sends a text, and receives until the turn is complete or the connection ends.
  async turn(said, onMessage = () => {}) {
    if (said !== undefined) this.say(said);
    const turn = {calls: [], cancelled: [], text: '', sound: []};
    Object.assign(turn, {interrupted: false, completions: 0});
    while (turn.completions === 0) {
      const heard = await this.next();
      if (heard.message === undefined) return {...turn, ended: heard};
      const {toolCall, toolCallCancellation, sessionResumptionUpdate} = heard.message;
      const {goAway, serverContent} = heard.message;
      if (toolCall) turn.calls.push(toolCall.functionCalls);
      if (toolCallCancellation) turn.cancelled.push(...toolCallCancellation.ids);
      if (sessionResumptionUpdate) turn.handle = sessionResumptionUpdate.newHandle;
      if (goAway) turn.timeLeft = goAway.timeLeft;
      for (const part of serverContent?.modelTurn?.parts ?? []) {
        turn.text += part.text ?? '';
        if (part.inlineData) turn.sound.push(Buffer.from(part.inlineData.data, 'base64'));
      }
      if (serverContent?.interrupted) turn.interrupted = true;
      if (serverContent?.turnComplete) turn.completions += 1;
      onMessage(heard.message);
    }
    return turn;
  }

  close() {
    this.session.close();
  }
}

// Every variant of the setup is accepted, and the model answers.
async function setups(ai) {
  for (const [name, config] of Object.entries(SETUPS)) {
    const conversation = await Conversation.open(ai, config);
    assert.equal((await conversation.turn('Hello.')).text, 'I beg your pardon?', name);
    conversation.close();
  }
}

// Two calls in one frame get a response each, in reverse order.
async function tools(ai) {
  const conversation = await Conversation.open(ai, CONFIG);
  const heard = await conversation.turn("What's the weather, and the time?", ({toolCall}) => {
    for (const {id, name} of [...(toolCall?.functionCalls ?? [])].reverse()) {
      const scheduling = name === 'get_time' ? {scheduling: 'WHEN_IDLE'} : {};
      conversation.session.sendToolResponse({
        functionResponses: [{id, name, response: {output: 'fine'}, ...scheduling}],
      });
    }
  });
  assert.deepEqual(heard.calls, [
    [
      {id: 'w1', name: 'get_weather', args: {city: 'Paris', days: 3}},
      {id: 't1', name: 'get_time', args: {time_zone: 'Europe/Paris'}},
    ],
  ]);
  assert.equal(heard.text, 'That is what I could find out about Paris.');
  conversation.close();
}

// A call is cancelled before its response, and a story is interrupted.
async function interruption(ai) {
  const conversation = await Conversation.open(ai, CONFIG);
  let heard = await conversation.turn('Do something slow.', ({toolCall}) => {
    if (toolCall) conversation.say('Never mind.');
  });
  assert.deepEqual(heard.cancelled, ['s1']);
  assert.equal(heard.interrupted, true);

  let asked = false;
  heard = await conversation.turn('Tell me a story.', () => {
    if (!asked) conversation.say('Stop!');
    asked = true;
  });
  assert.equal(heard.interrupted, true, 'the story was interrupted');
  assert.ok(heard.text.startsWith('And then 1. '), 'its beginning was heard');
  assert.ok(!heard.text.includes('The end.'), 'its end was not');
  conversation.close();
}

// Audio is sent in both directions.
async function media(ai) {
  const conversation = await Conversation.open(ai, CONFIG);
  const heard = await conversation.turn('Sing.');
  assert.deepEqual(heard.sound.map((frame) => frame.readUInt32LE()), [0, 1, 2, 3, 4]);
  assert.ok(heard.sound.every((frame) => frame.length === 960));
  const audio = {data: Buffer.alloc(640).toString('base64'), mimeType: 'audio/pcm;rate=16000'};
  for (let frame = 0; frame < 3; frame += 1) conversation.session.sendRealtimeInput({audio});
  assert.equal((await conversation.turn()).text, 'I heard three frames.');
  conversation.session.sendRealtimeInput({audioStreamEnd: true});
  conversation.session.sendRealtimeInput({text: 'Hello?'});
  assert.equal((await conversation.turn()).text, 'I beg your pardon?');
  conversation.close();
}

// The connection ends, and the session resumes with the handle.
async function resumption(ai) {
  let conversation = await Conversation.open(ai, {...CONFIG, sessionResumption: {}});
  const {handle, timeLeft} = await conversation.turn('Remember this.');
  assert.deepEqual({handle, timeLeft}, {handle: 'the-handle', timeLeft: '5s'});
  conversation.close();
  conversation = await Conversation.open(ai, {...CONFIG, sessionResumption: {handle}});
  assert.equal((await conversation.turn()).text, 'Welcome back.');
  assert.equal((await conversation.turn('Hello.')).text, 'I beg your pardon?');
  conversation.close();
  const unknown = {...CONFIG, sessionResumption: {handle: 'never-issued'}};
  await refused(ai, unknown, 1007, 'invalid argument');
}

// The library reports the close code of the service, before and after the setup.
async function closes(ai) {
  for (const [said, code, reason] of [
    ['fail', 1011, 'Internal error encountered.'],
    ['bye', 1000, ''],
    ['abort', 1008, 'The operation was aborted.'],
    ['vanish', 1006, ''],
  ]) {
    const conversation = await Conversation.open(ai, CONFIG);
    assert.deepEqual((await conversation.turn(said)).ended, {code, reason}, said);
  }
  // The library drops unknown members of schemas, but sends a generation config unchanged.
  const stopping = {...CONFIG, generationConfig: {stopSequences: ['end']}};
  await refused(ai, stopping, 1007, 'Unknown name');
  await refused(ai, CONFIG, 1008, 'is not found', 'no-such-model');
}

async function refused(ai, config, code, reason, model = MODEL) {
  const {ended} = await Conversation.open(ai, config, model);
  assert.equal(ended?.code, code);
  assert.ok(ended.reason.includes(reason), ended.reason);
}

const CONVERSATIONS = [setups, tools, interruption, media, resumption, closes];

function client(kind, url) {
  const httpOptions = {baseUrl: url.replace('ws://', 'http://')};
  return kind === 'gateway'
    ? new GoogleGenAI({vertexai: true, httpOptions})
    : new GoogleGenAI({apiKey: 'test-key', httpOptions});
}

// Sends each message of our own client through the library, and compares the results.
async function frames(recording) {
  const ours = readFileSync(recording, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter(({direction, opcode}) => direction === 'client->server' && opcode !== 'handshake')
    .map(({message}) => message);
  const mirror = new Mirror();
  const url = await mirror.listen();
  const ai = client('google_ai', url);
  const seen = {};
  let session;
  for (const message of ours) {
    const [[kind, body], ...more] = Object.entries(message);
    assert.deepEqual(more, [], 'one payload a message');
    seen[kind] = (seen[kind] ?? 0) + 1;
    if (kind === 'setup') {
      session?.close();
      const {model, generationConfig = {}, ...config} = body;
      const callbacks = {onmessage: () => {}, onerror: () => {}, onclose: () => {}};
      session = await ai.live.connect({model, config: {...generationConfig, ...config}, callbacks});
    } else if (kind === 'clientContent') {
      session.sendClientContent({turnComplete: undefined, ...body});
    } else if (kind === 'toolResponse') {
      session.sendToolResponse(body);
    } else if (kind === 'realtimeInput') {
      session.sendRealtimeInput(body);
    } else if (kind === 'contextUpdate') {
      session.sendContextUpdate(body);
    } else {
      assert.fail(`the library sends no ${kind}`);
    }
    // The library has a type for historyConfig, but does not send it.
    if (message.setup) delete message.setup.historyConfig;
    assert.deepEqual(await mirror.next(), message);
  }
  session?.close();
  mirror.close();
  for (const kind of ['setup', 'clientContent', 'toolResponse']) {
    assert.ok(seen[kind] > 0, `${recording} has no ${kind}`);
  }
  return ours.length;
}

// A service that returns the messages that it receives.
class Mirror {
  messages = [];
  waiting = [];

  listen() {
    this.server = new WebSocketServer({host: '127.0.0.1', port: 0});
    this.server.on('connection', (socket) => {
      socket.on('message', (data) => {
        const message = JSON.parse(data);
        if (message.setup) socket.send(JSON.stringify({setupComplete: {}}));
        const next = this.waiting.shift();
        if (next) next(message);
        else this.messages.push(message);
      });
    });
    return new Promise((resolve) => {
      this.server.on('listening', () => resolve(`ws://127.0.0.1:${this.server.address().port}`));
    });
  }

  next() {
    return this.messages.length > 0
      ? Promise.resolve(this.messages.shift())
      : new Promise((resolve) => this.waiting.push(resolve));
  }

  close() {
    this.server.close();
  }
}

async function main() {
  const {values} = parseArgs({
    options: {url: {type: 'string'}, frames: {type: 'string', multiple: true, default: []}},
  });
  const late = setTimeout(() => {
    console.error(`@google/genai: not done after ${TIMEOUT_MS} ms`);
    process.exit(1);
  }, TIMEOUT_MS);
  for (const kind of ['gateway', 'google_ai']) {
    for (const conversation of CONVERSATIONS) {
      try {
        await conversation(client(kind, values.url));
      } catch (problem) {
        throw new Error(`${kind}, ${conversation.name}: ${problem.message}`, {cause: problem});
      }
    }
  }
  let read = 0;
  for (const recording of values.frames) read += await frames(recording);
  clearTimeout(late);
  console.log(
    `@google/genai: ${CONVERSATIONS.length} conversations ` +
      `as with a gateway and as with Google AI, ` +
      `${Object.keys(SETUPS).length} setups each; ${read} frames of our own client read`,
  );
}

main().then(
  () => process.exit(0),
  (problem) => {
    console.error(problem);
    process.exit(1);
  },
);
