"""Coefficients of the vector functions, lowest power first, written by docs/fit_coefficients.py.

A key is a table's name and a dtype; the comment is log2 of the fit's relative error.
"""

from __future__ import annotations

_TEXTS = {
    ("arcsin", "f4"): (  # -28.5
        "0x1.555576p-3 0x1.332352p-4 0x1.704deap-5 0x1.bf32bp-6 0x1.3839dep-5 -0x1.9364cp-6 0x1.09893p-4"
    ),
    ("arcsin", "f8"): (  # -61.4
        "0x1.555555555556p-3 0x1.33333333317acp-4 0x1.6db6db6f4646ep-5 0x1.f1c71bb9b460ap-6 "
        "0x1.6e8bbc3f02617p-6 0x1.1c4c7cd0e5047p-6 0x1.c9e272f465a8ep-7 0x1.7743d68a6a0f9p-7 "
        "0x1.5b6df4d58c048p-7 0x1.94f1e83eddc06p-9 0x1.0961b4b69d834p-5 -0x1.51b1dd101b1b1p-4 "
        "0x1.e920e92b4b55ep-3 -0x1.be0492b328181p-2 0x1.27578589c6c11p-1 -0x1.d5412eb52d5d9p-2 "
        "0x1.7b8de0328495cp-3"
    ),
    ("arcsinh", "f4"): (  # -29.6
        "-0x1.555536p-3 0x1.3324f2p-4 -0x1.6b95dp-5 0x1.cd642cp-6 -0x1.b14f6ap-7"
    ),
    ("arcsinh", "f8"): (  # -60.4
        "-0x1.5555555555541p-3 0x1.3333333330756p-4 -0x1.6db6db6ba6268p-5 0x1.f1c71ba9a1f79p-6 "
        "-0x1.6e8b8ca52155fp-6 0x1.1c4d2f92ab2abp-6 -0x1.c972e968d6d39p-7 0x1.7941e1026a952p-7 "
        "-0x1.386a08a5bec9fp-7 0x1.e9431458ed32cp-8 -0x1.3720852bc5fbfp-8 0x1.c25e3cbe4a964p-10"
    ),
    ("arctan", "f4"): (  # -27.8
        "-0x1.55553ep-2 0x1.9991e4p-3 -0x1.242086p-3 0x1.c08c52p-4 -0x1.580962p-4 0x1.da2cep-5 "
        "-0x1.fd8a84p-6 0x1.643d0ep-7 -0x1.d39eep-10"
    ),
    ("arctan", "f8"): (  # -57.0
        "-0x1.5555555555526p-2 0x1.99999999955b1p-3 -0x1.249249237f491p-3 0x1.c71c717fcbee1p-4 "
        "-0x1.745d11ae3ab15p-4 0x1.3b136697e6d88p-4 -0x1.110e5118884d8p-4 0x1.e1bba5f51d2fp-5 "
        "-0x1.ae5e71a16d468p-5 0x1.82dad6f4f1324p-5 -0x1.59a40558d4796p-5 0x1.2c2e7880efdd6p-5 "
        "-0x1.e9fa91ddd1a48p-6 0x1.683d9e34b6856p-6 -0x1.c791b4c87a3d8p-7 0x1.d7bc4a65bd783p-8 "
        "-0x1.7a3d3ec9aa928p-9 0x1.b400782bd2bd7p-11 -0x1.3f3ba2aae22b9p-13 0x1.bbf6c6e0551cp-17"
    ),
    ("arctanh", "f4"): (  # -29.3
        "0x1.55554p-2 0x1.99a678p-3 0x1.234cd6p-3 0x1.e419aap-4 0x1.a5928ep-5 0x1.69c63ep-3"
    ),
    ("arctanh", "f8"): (  # -60.2
        "0x1.555555555554cp-2 0x1.999999999b3b7p-3 0x1.24924923c5bc8p-3 0x1.c71c722c2ef25p-4 "
        "0x1.745d087f56bccp-4 0x1.3b151624ae7a2p-4 0x1.10fa2d4549038p-4 0x1.e3f06ca16e64ep-5 "
        "0x1.9e567e6049479p-5 0x1.e800e7a44351fp-5 -0x1.5e10b7ee4e76cp-8 0x1.663d048d4364p-3 "
        "-0x1.9180a1d5c7b97p-3 0x1.edaebe08ff04bp-3"
    ),
    ("cbrt", "f4"): (  # -13.7
        "0x1.f8430ep-2 0x1.7ad25ep-1 -0x1.297c9ep-2 0x1.dd39ccp-5"
    ),
    ("cbrt", "f8"): (  # -28.0
        "0x1.7461f0d09fd19p-2 0x1.7513bf21213d1p+0 -0x1.03a7bf401d391p+1 0x1.40437d8098556p+1 "
        "-0x1.1d1ff768fc445p+1 0x1.5c68babb00f4dp+0 -0x1.14d6d03e5bccfp-1 0x1.0197dc68e7901p-3 "
        "-0x1.aa0b8f6fd2586p-7"
    ),
    ("cos", "f4"): (  # -32.6
        "0x1.55554ap-5 -0x1.6c0c24p-10 0x1.99e52ep-16"
    ),
    ("cos", "f8"): (  # -62.5
        "0x1.555555555554ap-5 -0x1.6c16c16c14ep-10 0x1.a01a019c5cd37p-16 -0x1.27e4f7ce56f34p-22 "
        "0x1.1ee9c48d739ccp-29 -0x1.8f9ac56c1375bp-37"
    ),
    ("erf_far", "f4"): (  # -28.3
        "0x1.073286p-3 0x1.457ce2p-1 0x1.af26eap-4 -0x1.77071ep-6 0x1.a5630cp-9 -0x1.c0c03ep-13"
    ),
    ("erf_far", "f8"): (  # -55.1
        "0x1.06eb7f7f35538p-3 0x1.45f364e1fdf74p-1 0x1.a4e860b0c0186p-4 -0x1.38e52569682dfp-6 "
        "-0x1.13b7b4c839a17p-12 0x1.cde3eed3714c3p-10 -0x1.52db61dc4ba38p-11 0x1.d8b4eb109ba9dp-15 "
        "0x1.f375b754f6719p-15 -0x1.410ba3f485ceap-15 0x1.c2a354723463cp-17 -0x1.b734a148e5869p-19 "
        "0x1.36c7ae19b7ed8p-21 -0x1.3c3e8d0fd299cp-24 0x1.b9064836072a7p-28 -0x1.7a5193095fac1p-32 "
        "0x1.2d63fc6bcedb7p-37"
    ),
    ("erf_near", "f4"): (  # -29.8
        "0x1.06eba8p-3 -0x1.81274p-2 0x1.ce2d64p-4 -0x1.b80124p-6 0x1.544b7ap-8 -0x1.a620acp-11 "
        "0x1.4fd288p-14"
    ),
    ("erf_near", "f8"): (  # -56.0
        "0x1.06eba8214db68p-3 -0x1.812746b03799dp-2 0x1.ce2f21a03f891p-4 -0x1.b82ce311a8067p-6 "
        "0x1.565bccee8acf9p-8 -0x1.c02daea61228ep-11 0x1.f9a294a0a073ep-14 -0x1.f4c807449cd48p-17 "
        "0x1.b96980b9580b3p-20 -0x1.5b7f44b53b807p-23 0x1.d37588fe1b8a4p-27 -0x1.a0e042716e39ep-31"
    ),
    ("erfc", "f4"): (  # -27.2
        "0x1.3ba592p+0 -0x1.208728p-25 -0x1.1df1a8p-3 0x1.f7f58ap-7 0x1.16ea56p-4 -0x1.9ddb66p-4 "
        "0x1.8017b4p-4 -0x1.0f9174p-4 0x1.2e8404p-5 -0x1.0e5cc8p-6 0x1.674ea4p-8 0x1.dd217cp-14"
    ),
    ("erfc", "f8"): (  # -57.9
        "0x1.3ba5916e9fd7fp+0 -0x1.9097e9fd95697p-55 -0x1.1df1ad154a28ep-3 0x1.f7f5df66fd514p-7 "
        "0x1.16ecefcfa534p-4 -0x1.9ddb23c3e79ebp-4 0x1.7fee004e133fcp-4 -0x1.0fb06dfe6fcb2p-4 "
        "0x1.3079edf65aa9p-5 -0x1.0962387cc8c48p-6 0x1.49c67295f14ffp-8 -0x1.8d4aa236c3585p-11 "
        "-0x1.a1df34f63549ap-13 0x1.3be0e3255b0ffp-13 -0x1.9956cb15f0092p-16 -0x1.78a5d338b5602p-17 "
        "0x1.7f07b8a95f2efp-18 0x1.420ec521560dap-22 -0x1.b8d89223aaebp-21 0x1.1e76c1732291fp-24 "
        "0x1.c14299400169p-24 -0x1.9ff0fcce99f6fp-27 -0x1.5be164be30a3p-27"
    ),
    ("erfcx", "f4"): (  # -27.5
        "0x1.3ba592p+0 -0x1.23370cp-25 -0x1.1df1aep-3 0x1.f7f5fp-7 0x1.16ed02p-4 -0x1.9ddb52p-4 "
        "0x1.7fed24p-4 -0x1.0faeb8p-4 0x1.308248p-5 -0x1.0981f4p-6 0x1.493508p-8 -0x1.83a0fcp-11 "
        "-0x1.93f478p-13 0x1.0c7306p-13 -0x1.63a3eap-16"
    ),
    ("erfcx", "f8"): (  # -55.7
        "0x1.3ba5916e9fd7fp+0 -0x1.abda3575bee53p-55 -0x1.1df1ad154a28ep-3 0x1.f7f5df66fd7e1p-7 "
        "0x1.16ecefcfa5395p-4 -0x1.9ddb23c3e924ep-4 0x1.7fee004e125aep-4 -0x1.0fb06dfe4661dp-4 "
        "0x1.3079edf680c15p-5 -0x1.09623885d1b8bp-6 0x1.49c6728734908p-8 -0x1.8d4a98fb883f3p-11 "
        "-0x1.a1df26a40fb7dp-13 0x1.3be025ff2a671p-13 -0x1.99590edd10515p-16 -0x1.787e9f3928277p-17 "
        "0x1.7f25e3cb19879p-18 0x1.377b2f096ef8ep-22 -0x1.bae3583da08d3p-21 0x1.5887ed0d13035p-24 "
        "0x1.d7524f9083362p-24 -0x1.8ddabb20379adp-26 -0x1.e1e4b1eb196e1p-27 0x1.3cbda3c31d6acp-28 "
        "0x1.53f2dd27afecep-30 -0x1.5597d0133208dp-31 0x1.4b5d232affc55p-35"
    ),
    ("erfcx_near", "f4"): (  # -25.8
        "-0x1.20dd76p+0 0x1.fffffep-1 -0x1.8126eap-1 0x1.000054p-1 -0x1.3430acp-2 0x1.554c46p-3 "
        "-0x1.5d993cp-4 0x1.550094p-5 -0x1.61fa96p-6 0x1.269848p-7"
    ),
    ("erfcx_near", "f8"): (  # -58.2
        "-0x1.20dd750429b6dp+0 0x1p+0 -0x1.812746b0379ebp-1 0x1.fffffffffffe7p-2 -0x1.341f6bc02c533p-2 "
        "0x1.5555555555f81p-3 -0x1.6023e8dbbc9c6p-4 0x1.55555555166a2p-5 -0x1.3903799cf7fffp-6 "
        "0x1.1111111e46104p-7 -0x1.c74ae396e7881p-9 0x1.6c16be5991e9p-10 -0x1.182d8aeb5cfe7p-11 "
        "0x1.a01a5ac386fb1p-13 -0x1.2af21f2ff9c2dp-14 0x1.a01984a94d2c8p-16 -0x1.170ec03d1082dp-17 "
        "0x1.70d4aad244143p-19 -0x1.0c27e45289165p-20 0x1.42c604e5c6444p-22"
    ),
    ("exp", "f4"): (  # -28.0
        "0x1.fffffcp-2 0x1.555492p-3 0x1.5558f2p-5 0x1.1239e2p-7 0x1.6a241ap-10"
    ),
    ("exp", "f8"): (  # -56.3
        "0x1.000000000000ap-1 0x1.55555555554fap-3 0x1.555555555087ep-5 0x1.1111111127b5bp-7 "
        "0x1.6c16c18429f61p-10 0x1.a01a012a89b4ep-13 0x1.a0199a0c50ccbp-16 0x1.71df24decb0d8p-19 "
        "0x1.28ad73201966p-22 0x1.ad80286757af9p-26"
    ),
    ("exp2", "f4"): (  # -25.9
        "0x1.62e43p-1 0x1.ebfbdcp-3 0x1.c6aee8p-5 0x1.3b2d4cp-7 0x1.5f3e54p-10 0x1.41fcc4p-13"
    ),
    ("exp2", "f8"): (  # -55.0
        "0x1.62e42fefa39efp-1 0x1.ebfbdff82c5a4p-3 0x1.c6b08d7049fe8p-5 0x1.3b2ab6fba011ap-7 "
        "0x1.5d87fe78cd67fp-10 0x1.4309130ed8c3cp-13 0x1.ffcbfba99ab2p-17 0x1.62bfc79d64049p-20 "
        "0x1.b5267ca5c63e1p-24 0x1.e61b4f713e083p-28 0x1.e79c149572449p-32"
    ),
    ("exp2_short", "f8"): (  # -34.3
        "0x1.62e42ff0e13a6p-1 0x1.ebfbe0777f1bcp-3 0x1.c6b08ac1331fep-5 0x1.3b29f3a2790dp-7 "
        "0x1.5d8a8540db8f6p-10 0x1.445c811ab58dp-13 0x1.fde6cb01c65a5p-17"
    ),
    ("exp_near", "f8"): (  # -56.3
        "0x1.fffffffffffb8p-2 0x1.555555548f746p-3 0x1.55555558ffabdp-5 0x1.11123abdeb2e1p-7 "
        "0x1.6c14c4e9bc41bp-10"
    ),
    ("expm1", "f4"): (  # -25.8
        "0x1.fffffep-2 0x1.5554bp-3 0x1.555674p-5 0x1.12277cp-7 0x1.6bec9ep-10"
    ),
    ("expm1", "f8"): (  # -60.0
        "0x1p-1 0x1.5555555555559p-3 0x1.555555555553fp-5 0x1.111111110f6d9p-7 0x1.6c16c16c1f0bfp-10 "
        "0x1.a01a01afd42f8p-13 0x1.a01a017bb180ap-16 0x1.71ddf87df75afp-19 0x1.27e536585b8bbp-22 "
        "0x1.af5e764aaba7fp-26 0x1.1ee843c2cf33ap-29"
    ),
    ("log", "f4"): (  # -28.1
        "0x1.555548p-2 -0x1.000006p-2 0x1.99a4bcp-3 -0x1.555c5ap-3 0x1.2336e8p-3 -0x1.fc1f4ep-4 "
        "0x1.e6f5b2p-4 -0x1.de5052p-4 0x1.1464bep-4"
    ),
    ("log2_ratio", "f8"): (  # -37.8
        "0x1.71547652beed2p+1 0x1.ec709d11fc864p-1 0x1.277780823e875p-1 0x1.a58d3fbb6cd46p-2 "
        "0x1.5cedbd1f43561p-2"
    ),
    ("log_near", "f4"): (  # -26.6
        "-0x1.00002ep-1 0x1.555da8p-2 -0x1.f3064ap-3"
    ),
    ("log_near", "f8"): (  # -55.8
        "-0x1.0000000000007p-1 0x1.555555555642fp-2 -0x1.ffffffffd27bbp-3 0x1.9999997713ebcp-3 "
        "-0x1.5555554b56d92p-3 0x1.249305c14f152p-3 -0x1.0009dafd1fec2p-3 0x1.c4f2e4e73657dp-4 "
        "-0x1.613101cb73dcep-4"
    ),
    ("log_pair", "f8"): (  # -73.1
        "0x1.9999999999996p-2 0x1.2492492492f54p-2 0x1.c71c71c592dddp-3 0x1.745d182cf0faep-3 "
        "0x1.3b13635e11876p-3 0x1.1120b55c38e16p-3 0x1.de302ba77e0e5p-4 0x1.eb438e5d5fb2p-4"
    ),
    ("log_ratio", "f8"): (  # -55.8
        "0x1.5555555555593p-1 0x1.999999997f9d3p-2 0x1.249249422d9e2p-2 0x1.c71c51d46f6e5p-3 "
        "0x1.74664af2c870ap-3 0x1.39a03403dade3p-3 0x1.2f1b3156e89f1p-3"
    ),
    ("ndtr", "f4"): (  # -26.4
        "0x1.d8979ap-2 0x1.b10978p-27 -0x1.76ff96p-4 0x1.fc688ap-6 0x1.47d74ap-7 -0x1.b0ae32p-6 "
        "0x1.917504p-6 -0x1.efd714p-7 0x1.b7319cp-8 -0x1.bae25cp-10 -0x1.5df2fap-12"
    ),
    ("ndtr", "f8"): (  # -56.9
        "0x1.d8979b0f2b39dp-2 0x1.c192bb72f0acdp-56 -0x1.76ff86859eb15p-4 0x1.fc66cc64a142p-6 "
        "0x1.47c1d03054e88p-7 -0x1.b08e0007b5dbp-6 0x1.92037bab3fdcep-6 -0x1.f11aab02d3a01p-7 "
        "0x1.ab6d038f65b96p-8 -0x1.b75f4f9702075p-10 0x1.057177aee3459p-17 0x1.7e61e644c0103p-13 "
        "-0x1.c1b186551e136p-15 -0x1.4c0f5c2d3ba15p-17 0x1.2fffb236e22fep-17 -0x1.2ccb06596a317p-24 "
        "-0x1.5ee563e65b50dp-20 0x1.10e76642bc58cp-23 0x1.a3678c6ed19d3p-23 -0x1.aff8473e86e83p-26 "
        "-0x1.f95dadd340e28p-26 0x1.79f3c60c1b1bap-29 0x1.b803244ebc786p-29"
    ),
    ("ndtr_near", "f4"): (  # -28.4
        "0x1.988454p-2 -0x1.105862p-4 0x1.46d558p-7 -0x1.376ebp-10 0x1.e26d54p-14 -0x1.122474p-17"
    ),
    ("ndtr_near", "f8"): (  # -57.8
        "0x1.9884533d43651p-2 -0x1.1058377e2cf52p-4 0x1.46d042976d631p-7 -0x1.37403f6cd36eep-10 "
        "0x1.e42b0db117e43p-14 -0x1.3ce90398a26dbp-17 0x1.658b262f6c8a3p-21 -0x1.6234be49842bfp-25 "
        "0x1.3930bd19d88e3p-29 -0x1.f66857dc98152p-34 0x1.4d755a43879f6p-38"
    ),
    ("sin", "f4"): (  # -27.8
        "-0x1.555544p-3 0x1.1106c6p-7 -0x1.991c2cp-13"
    ),
    ("sin", "f8"): (  # -56.8
        "-0x1.5555555555548p-3 0x1.111111110f724p-7 -0x1.a01a019be5edap-13 0x1.71de3550b608bp-19 "
        "-0x1.ae5e467b3879ap-26 0x1.5d895880e7ff5p-33"
    ),
    ("sinh", "f4"): (  # -31.4
        "0x1.555556p-3 0x1.1110ep-7 0x1.a022bcp-13 0x1.756ff6p-19"
    ),
    ("sinh", "f8"): (  # -63.0
        "0x1.5555555555555p-3 0x1.111111111119bp-7 0x1.a01a01a00735ep-13 0x1.71de3a68d09bdp-19 "
        "0x1.ae6441200149dp-26 0x1.61315133998cbp-33 0x1.a660d8f9c1642p-41 0x1.d381591a95929p-48"
    ),
    ("tan", "f4"): (  # -29.2
        "0x1.55556p-2 0x1.110d92p-3 0x1.badd9p-5 0x1.5c89f6p-6 0x1.642fecp-7 0x1.22331cp-15 0x1.20e86ep-8"
    ),
    ("tan", "f8"): (  # -55.7
        "0x1.55555555554e7p-2 0x1.1111111118e74p-3 0x1.ba1ba1b3e1a1fp-5 0x1.664f49c215292p-6 "
        "0x1.226e0f8b2dccdp-7 0x1.d6d998a4eaa6cp-9 0x1.7d5697bbc3887p-10 0x1.382281d4939a4p-11 "
        "0x1.d09b2f7c18d27p-13 0x1.21ed44bc6302ap-13 -0x1.e350964bceb6ap-16 0x1.8080858897b52p-14 "
        "-0x1.827b01b37bfa6p-15 0x1.62d6cd216948fp-16"
    ),
}
TABLES = {key: tuple(map(float.fromhex, text.split())) for key, text in _TEXTS.items()}
